"""The work that the server serves: the machine's survey and the measuring rooms."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from jaxtui.core.engine.process import MOST_CPU_DEVICES
from jaxtui.core.model import (
    Check,
    Device,
    EngineFailed,
    Event,
    Experiment,
    Holder,
    Host,
    Inspection,
    Joining,
    Loop,
    Noticed,
    OpInfo,
    Place,
    Plan,
    Profiling,
    Remark,
    Roofs,
    RunEvent,
    Snippet,
    Work,
)
from jaxtui.core.model.remark import Fact
from jaxtui.machine import findings, hosts, malloc, packages, processes, topologies
from jaxtui.machine.survey import Survey, blocking, survey
from jaxtui.registry import part
from jaxtui.tasks.errors import translate_backend, translate_import

if TYPE_CHECKING:
    from jaxtui.core.engine.hosts import Hosts
    from jaxtui.timing.pace import Pace

MINIMUM_JAX = (0, 6, 2)


_RUNNERS: dict[type[Work], tuple[str, str, str]] = {
    Experiment: ("bench", "measure.experiment", "run"),
    Loop: ("timeline", "measure", "run_loop"),
    Snippet: ("lessons", "measure", "run_snippet"),
    Check: ("check", "measure.base", "run_check"),
    Inspection: ("program", "measure", "run_inspection"),
    Profiling: ("profile", "measure.case", "run_profiling"),
    Roofs: ("roofline", "measure", "run_roofs"),
}
"""The feature, its module and the function that run a work."""


class CannotServeError(Exception):
    """The engine cannot serve; carries the event that says why."""

    def __init__(self, why: EngineFailed | Remark) -> None:
        failed = EngineFailed(remark=why) if isinstance(why, Remark) else why
        super().__init__(failed.remark.code)
        self.failed = failed


class Core:
    """The abilities of an engine; every method is called in the timing thread.

    What imports jax is imported when it is first needed: the environment decides, and
    the machine is looked at before.

    Args:
        root: where proc, sys and dev are, for tests.
        topology: a TPU that is not here, whose devices are compiled for.
        place: of this process among several; ``None`` for what JAX detects.
        alone: this process works alone, whatever there is.
    """

    def __init__(
        self,
        root: Path = Path("/"),
        topology: str | None = None,
        *,
        place: Place | None = None,
        alone: bool = False,
    ) -> None:
        self._root = root
        self._topology = topology
        self._place = place
        self._alone = alone or topology is not None
        self._hosts: Hosts | None = None
        """This process and the others, if there are several."""
        self._cluster_warnings: tuple[Remark, ...] = ()
        """The warnings of JAX's cluster detection, which failed."""
        self._own: tuple[Device, ...] = ()
        """The devices as this process lists them."""
        self._libtpu = ""
        self._seen: Survey | None = None
        self._settings: list[Remark] | None = None
        """The settings without the files whose functions are timed."""

    def look(self) -> Noticed:
        """Survey the machine once."""
        if self._topology is not None:
            return Noticed(findings=(), hardware=self._topology)
        survey = self._survey()
        return Noticed(
            findings=findings.before(survey),
            hardware=survey.hardware,
            makers=survey.awaited,
            tpu_chips=len(survey.of("tpu")),
        )

    def compare(self, devices: Sequence[Device]) -> tuple[Remark, ...]:
        """Compare what JAX has with what was seen before it was touched."""
        if self._topology is not None:
            return ()
        survey = self._survey()
        if survey.packages is None:
            survey = replace(survey, packages=packages.installed())
        from jaxtui.tasks import settings

        remarks = findings.after(survey, self._own or devices)
        if self._settings is None:
            self._settings = [*settings.remarks()]
        more = *malloc.remarks(), *self._settings, *self._cluster_warnings
        return findings.sort([*remarks, *more])

    def _survey(self) -> Survey:
        if self._seen is None:
            self._seen = survey(os.environ, self._root)
        return self._seen

    def load(self) -> tuple[OpInfo, ...]:
        """Import jax, check that it will do, and import the catalogue."""
        if self._topology is not None:
            # jax says where libtpu is as if the user had.
            self._libtpu = packages.libtpu_version() or ""
            if not self._libtpu:
                topology: dict[str, Fact] = {"topology": True}
                raise CannotServeError(Remark("libtpu-missing", topology, "error"))
        try:
            import jax
        # Also a wrong environment variable or two versions that do not fit end here.
        except Exception as error:
            raise CannotServeError(translate_import(error)) from error
        version = str(getattr(jax, "__version__", ""))
        if not version:  # a file of the user's
            raise CannotServeError(translate_import(ImportError(f"{jax}")))
        if packages.version_numbers(version) < MINIMUM_JAX:
            needed = ".".join(map(str, MINIMUM_JAX))
            facts: dict[str, Fact] = {"jax": version, "needed": needed}
            raise CannotServeError(Remark("jax-too-old", facts, "error"))
        from jaxtui.tasks.ops import catalogue

        return catalogue()

    @property
    def launched(self) -> bool:
        """Return whether this seems to be one of several processes, without JAX."""
        typed = self._place is not None and self._place.processes > 1
        return not self._alone and (typed or hosts.is_launched(os.environ))

    def join(self, say: Callable[[Event], None]) -> None:
        """Join the other processes, if this is one of several, before JAX starts.

        Args:
            say: sends an event that belongs to no run, and waits until it is written.
        """
        if self._alone:
            return
        from jaxtui.core.engine import cluster as distributed
        from jaxtui.tasks.errors import RefusedError

        try:
            place = self._place or distributed.detect()
        except RefusedError as refused:
            if refused.remark.severity == "error":
                raise CannotServeError(refused.remark) from refused
            # A machine that stands alone works all the same.
            self._cluster_warnings = (refused.remark,)
            return
        if place is None or place.processes < 2:
            return
        from jaxtui.core.engine import meeting
        from jaxtui.core.engine.hosts import Hosts

        names = hosts.names_of(os.environ, place.processes)
        joining = Joining(place=place, names=names)
        say(joining)
        try:
            terms = meeting.meet(place, joining, say)
        except RefusedError as refused:
            raise CannotServeError(refused.remark) from refused
        say(replace(joining, heard=True, hostnames=terms.hostnames))
        store = distributed.join(place, meeting.bind_address(place.coordinator))
        self._hosts = Hosts(store, place, terms, say)

    def leave(self) -> bool:
        """Tell the others that this process is going; whether there are any."""
        if self._hosts is not None:
            self._hosts.leave()
        return self._hosts is not None

    def start(self) -> tuple[tuple[Host, ...], tuple[Device, ...]]:
        """Start the backend unless another process has the TPU.

        Returns:
            The host of each process, this one's first, and their devices.
        """
        # Where the look has failed, JAX itself will say that the TPU is held.
        if self._seen and (holders := blocking(self._seen, self._root)):
            raise CannotServeError(_held(holders))
        from jaxtui.tasks.devices import describe, simulated
        from jaxtui.tasks.host import host

        if self._topology is not None:
            described, described_devices = self._describe(self._topology)
            return (described,), described_devices
        for name, count in simulated():
            if count > MOST_CPU_DEVICES:
                facts: dict[str, Fact] = {
                    "variable": name,
                    "asked": count,
                    "most": MOST_CPU_DEVICES,
                }
                raise CannotServeError(Remark("cpu-devices", facts, "error"))
        if self._hosts is not None:
            self._hosts.begin()
        try:
            devices = self._own = describe()
        # Backends fail in every way there is, AssertionError included.
        except Exception as error:
            failed = self._explained(error)
            if self._hosts is not None:
                code = failed.remark.code
                self._hosts.leave(self._hosts.not_up(code))
            raise CannotServeError(failed) from error
        if self._hosts is None:
            return (host(),), devices
        devices, of_all = self._hosts.gather(host(), devices)
        return of_all, devices

    def _describe(self, name: str) -> tuple[Host, tuple[Device, ...]]:
        """The devices of a TPU that is not here."""
        from jaxtui.tasks.errors import RefusedError
        from jaxtui.tasks.host import host

        topology = topologies.parse(name)
        try:
            devices = part("program", "ahead").describe(topology)
        except RefusedError as refused:
            raise CannotServeError(refused.remark) from refused
        return replace(host(), platform_version=self._libtpu), devices

    def _explained(self, error: Exception) -> EngineFailed:
        failed = translate_backend(error)
        if failed.remark.code != "held":
            return failed
        proc = self._root / "proc"
        described = tuple(
            processes.holder(holder.pid, proc) for holder in failed.holders
        )
        if holders := described or processes.holders(proc):
            return _held(holders, failed.remark.detail)
        lock = processes.lock(self._root)
        for remark in findings.lock(lock):
            return EngineFailed(remark=remark, holders=lock.holders)
        return failed

    def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        """Say what an experiment would need, and how to do it without jaxtui."""
        plan: Plan = part("bench", "measure.planning").plan(experiment, recipes=recipes)
        return plan

    def agree(self, work: Work) -> Remark | None:
        """Return why not all processes can do this work; ``None`` where they can."""
        return None if self._hosts is None else self._hosts.agree(work)

    def imports(self, work: Work) -> Iterator[RunEvent]:
        """Import the files whose functions a work times; JAX has not started yet."""
        if isinstance(work, (Experiment, Inspection, Loop, Profiling)):
            # All that measures: a file may replace what it takes from elsewhere.
            from jaxtui.tasks import devices, host, own, settings  # noqa: F401

            part("bench", "measure.experiment")
            part("program", "measure")
            part("profile", "measure.case")
            part("timeline", "measure")

            self._settings = [*settings.remarks()]

            yield from own.imports(work)

    def run(self, work: Work, stop: Callable[[], bool]) -> Iterator[RunEvent]:
        """Run a work, on all processes that it needs."""
        if self._hosts is not None:
            from jaxtui.core.engine import course

            return course.run(self._hosts, work, stop, self._here)
        return self._here(work, stop)

    def _here(
        self, work: Work, stop: Callable[[], bool], pace: Pace | None = None
    ) -> Iterator[RunEvent]:
        """Run a work in this process.

        Args:
            work: what to do.
            stop: whether it is to end.
            pace: of the processes that do the same at the same time.
        """
        from jaxtui.timing.pace import ALONE

        feature, module, name = _RUNNERS[type(work)]
        run: Callable[..., Iterator[RunEvent]] = getattr(part(feature, module), name)
        if isinstance(work, Experiment):
            return run(work, stop=stop, pace=pace or ALONE)
        if isinstance(work, Check):
            return run(work, self._survey(), stop=stop)
        return run(work, stop=stop)

    def memory(self) -> dict[str, dict[str, int] | None]:
        """Fresh memory statistics by device name."""
        from jaxtui.tasks import devices

        return devices.memory()


def _held(holders: tuple[Holder, ...], detail: str = "") -> EngineFailed:
    facts = {**processes.facts(holders[0]), "more": len(holders) - 1}
    return EngineFailed(remark=Remark("held", facts, "error", detail), holders=holders)
