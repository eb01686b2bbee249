"""What the server serves: the measuring core, behind an interface that tests fake."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from jaxtui.machine import findings
from jaxtui.machine.holders import blocking, holders
from jaxtui.machine.survey import Survey, survey
from jaxtui.model import (
    Check,
    Device,
    EngineFailed,
    Experiment,
    Finding,
    Holder,
    Host,
    Loop,
    OpInfo,
    Plan,
    RunEvent,
    Snippet,
    Work,
)

MINIMUM_JAX = (0, 6, 2)


class CannotServeError(Exception):
    """The engine cannot serve; carries the event that says why."""

    def __init__(self, failed: EngineFailed) -> None:
        """Keep the event."""
        super().__init__(failed.error)
        self.failed = failed


class Core(Protocol):
    """What an engine can do; every method is called in the timing thread."""

    def look(self, devices: Sequence[Device] = ()) -> tuple[Finding, ...]:
        """What is to be known of the machine, without JAX.

        Args:
            devices: those that JAX has, once it has started.
        """
        ...

    def load(self) -> tuple[OpInfo, ...]:
        """Import the catalogue; raises ``CannotServeError``."""
        ...

    def start(self) -> tuple[Host, tuple[Device, ...]]:
        """Start the backend, which takes the accelerator.

        Raises:
            CannotServeError: It does not start, or somebody else has it.
        """
        ...

    def plan(self, experiment: Experiment) -> Plan:
        """Say what an experiment would need."""
        ...

    def run(self, work: Work, stop: Callable[[], bool]) -> Iterator[RunEvent]:
        """Do a work; ``stop`` is asked between turns."""
        ...

    def memory(self) -> dict[str, dict[str, int] | None]:
        """Fresh memory statistics by device name."""
        ...


class JaxCore:
    """The real one. Everything heavy is imported when it is first needed."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Take where proc, sys and dev are, for tests."""
        self._root = root
        self._seen: Survey | None = None
        self._proc, self._sys, self._dev = root / "proc", root / "sys", root / "dev"

    def look(self, devices: Sequence[Device] = ()) -> tuple[Finding, ...]:
        """Survey the machine once; what JAX has is compared with that."""
        seen = self._survey()
        return findings.after(seen, devices) if devices else findings.before(seen)

    def _survey(self) -> Survey:
        if self._seen is None:
            self._seen = survey(os.environ, self._root)
        return self._seen

    def load(self) -> tuple[OpInfo, ...]:
        """Import jax, check that it will do, and import the catalogue."""
        _require_jax()
        from jaxtui.measure.ops import OPS

        return tuple(op.info() for op in OPS.values())

    def start(self) -> tuple[Host, tuple[Device, ...]]:
        """Start the backend unless another process has the TPU."""
        found = blocking(dict(os.environ), self._proc, self._sys, self._dev)
        if found:
            raise CannotServeError(_held(found))
        from jaxtui.measure.devices import describe
        from jaxtui.measure.host import host

        try:
            devices = describe()
        # Backends fail in every way there is, AssertionError included.
        except Exception as error:
            raise CannotServeError(self._explained(error)) from error
        return host(), devices

    def _explained(self, error: Exception) -> EngineFailed:
        from jaxtui.measure.backend_errors import translate_backend

        failed = translate_backend(error)
        if failed.reason != "held":
            return failed
        return msgspec.structs.replace(failed, holders=holders(self._proc))

    def plan(self, experiment: Experiment) -> Plan:
        """Say what an experiment would need."""
        from jaxtui.measure.planning import plan

        return plan(experiment)

    def run(self, work: Work, stop: Callable[[], bool]) -> Iterator[RunEvent]:
        """Do an experiment, a loop, a snippet or a test of the health check."""
        match work:
            case Experiment():
                from jaxtui.measure.experiment import run

                return run(work, stop=stop)
            case Loop():
                from jaxtui.measure.loops import run_loop

                return run_loop(work, stop=stop)
            case Snippet():
                from jaxtui.measure.snippets import run_snippet

                return run_snippet(work, stop=stop)
            case Check():
                from jaxtui.measure.checks import run_check

                return run_check(work, self._survey(), stop=stop)

    def memory(self) -> dict[str, dict[str, int] | None]:
        """Fresh memory statistics by device name."""
        from jaxtui.measure import devices

        return devices.memory()


def _require_jax() -> None:
    try:
        import jax
    except ImportError as error:
        raise CannotServeError(_missing(error)) from error
    version = str(getattr(jax, "__version__", "unknown"))
    if _numbers(version) < MINIMUM_JAX:
        raise CannotServeError(_too_old(version))


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: (0, 6, 2) of ``0.6.2rc1``."""
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, leading[0].split("."))) if leading else ()


def _missing(error: ImportError) -> EngineFailed:
    return EngineFailed(
        reason="jax-missing",
        error="JAX cannot be imported in the Python that runs jaxtui.",
        hint=(
            "Install jaxtui into the environment where jax works; on a fresh machine:"
            ' pip install "jaxtui[tpu]", "jaxtui[cuda13]", or jax for the CPU alone.'
        ),
        detail=f"{type(error).__name__}: {error}",
    )


def _too_old(version: str) -> EngineFailed:
    needed = ".".join(map(str, MINIMUM_JAX))
    return EngineFailed(
        reason="jax-too-old",
        error=f"Found jax {version}; jaxtui needs jax {needed} or newer.",
        hint=(
            "jaxtui never changes your jax. Upgrade it yourself, on a TPU with"
            ' pip install -U "jax[tpu]" so that libtpu fits, or use an environment'
            " with a newer one."
        ),
    )


def _held(found: tuple[Holder, ...]) -> EngineFailed:
    first = found[0]
    owner = f" of {first.user}" if first.user else ""
    others = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return EngineFailed(
        reason="held",
        error=f"The TPU is in use by process {first.pid}{owner}{others}:"
        f" {first.command}",
        hint=(
            "A TPU serves one process at a time: end that one or wait for it,"
            " or look at the CPU with JAX_PLATFORMS=cpu."
        ),
        holders=found,
    )
