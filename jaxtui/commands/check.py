"""``jaxtui check``: is this machine all right? A verdict, live, and an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from jaxtui.analysis import baseline as baselines
from jaxtui.analysis.baseline import (
    Baseline,
    Difference,
    differences,
)
from jaxtui.analysis.check import EXIT_CODES
from jaxtui.analysis.examination import (
    Examination,
    begin,
    longest_seconds,
)
from jaxtui.commands import FINE, CannotRun
from jaxtui.commands.common import Common, engine_flags, named, valued
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import DEVICE_LIST, LIMIT, Parsed, json_flag, one_of
from jaxtui.commands.output import close, rendered
from jaxtui.commands.progress import bar, live_line, progress_line
from jaxtui.commands.terminal import say
from jaxtui.model import (
    CHECK_LEVELS,
    Check,
    CheckLevel,
    Device,
    Fact,
    Remark,
)
from jaxtui.model.machine import members
from jaxtui.model.remark import SelectionError
from jaxtui.selection import parse_devices
from jaxtui.state import State, with_series
from jaxtui.view import check as view
from jaxtui.view import words
from jaxtui.view.document import CheckResults, Outcome, check_results


def _texts(differences: Sequence[Difference]) -> tuple[str, ...]:
    return tuple(f"{name} {before} → {now}" for name, before, now in differences)


@named(
    "check", "jaxtui check --level full", "jaxtui check --json --baseline monday.json"
)
@valued(
    "--level",
    "LEVEL",
    "quick, about twelve seconds, or full, some minutes.",
    "quick",
    type=one_of("level", CHECK_LEVELS),
)
@valued(
    "--device",
    "DEVICES",
    "cpu:0,cpu:3 or tpu.  [default: all]",
    type=DEVICE_LIST,
)
@valued(
    "--limit",
    "SECONDS",
    "Timeout per test: a slower device is reported as not responding.  "
    "[default: a minute or more]",
    type=LIMIT,
)
@valued(
    "--baseline",
    "FILE",
    "Compare with what `jaxtui check --json > FILE` printed.",
    # Fails early: a bad file is refused before the run.
    type=Parsed("file", baselines.load),
)
@json_flag
@engine_flags
@click.pass_obj
def command(
    common: Common,
    /,
    *,
    level: CheckLevel,
    device: str | None,
    limit: float | None,
    baseline: Baseline | None,
    as_json: bool,
) -> int:
    """Check that every device is present, correct and fast."""
    longest = longest_seconds(level)
    if limit is not None and limit <= longest:
        raise SelectionError(
            f"The limit of {limit:g} s is shorter than the longest test of level"
            f" {level}: give more than {longest:g} seconds."
        )
    check = _Check(common, level, baseline)

    async def run() -> None:
        async with check.started() as session, live_line(check.line):
            await session.ready()
            session.refuse("verdicts")
            chosen = _chosen(session.state, device, baseline)
            exam = begin(chosen, level, session.state.ops, limit)
            session.state = with_series(session.state, "check", exam)
            if as_json:  # whose document has the figures alone
                for remark in check.of_machine:
                    say(words.text(remark))
            await session.play(exam, "check")

    check.drive(run())
    word = check.judged.word
    return close(
        document=check.document,
        text=check.text if check.exam else None,
        as_json=as_json,
        # That nothing was tested says nothing if that is because the engine was lost.
        code=FINE if word == "skipped" and check.lost else EXIT_CODES[word],
        lost=check.lost,
        interrupted=check.interrupted_where,
    )


def _chosen(
    state: State, devices: str | None, baseline: Baseline | None
) -> tuple[Device, ...]:
    """The devices to test: all of this process, unless some are named.

    Raises:
        SelectionError: if one does not exist, or is another process's.
        CannotRun: if there is none, or the baseline is of other hardware.
    """
    names = parse_devices(devices or "all", state.devices)
    each = {member for name in names for member in members(name)}
    chosen = tuple(
        device for device in state.devices if device.addressable and device.name in each
    )
    if not chosen:
        raise CannotRun("JAX has no device that this process can use.")
    if baseline is not None and state.host is not None:
        # The machine counts: a few of its devices may be compared, too.
        differing = baselines.other_hardware(baseline, state.devices, state.host)
        if differing:
            raise CannotRun(
                f"{baseline.name} comes from other hardware:"
                f" {'; '.join(_texts(differing))}."
            )
    return chosen


class _Check(Driver):
    """The progress of a check."""

    def __init__(
        self,
        common: Common,
        level: CheckLevel,
        baseline: Baseline | None,
    ) -> None:
        super().__init__(common)
        self._level: CheckLevel = level
        self._baseline = baseline
        self._judged = view.NO_JUDGEMENT

    @property
    def exam(self) -> Examination | None:
        """``None`` until the devices are known."""
        exam = self.state.series.get("check")
        return exam if isinstance(exam, Examination) else None

    @property
    def judged(self) -> view.Judgement:
        last, baseline = self._judged, self._baseline
        self._judged = view.judged(self.exam, last=last, baseline=baseline)
        return self._judged

    @property
    def outcome(self) -> Outcome:
        return (self.exam and self.exam.outcome) or "cancelled"

    def line(self, elapsed_seconds: float) -> str:
        if self.exam is None or self.state.engine == "starting":
            return progress_line(self.state, elapsed_seconds)
        return check_line(self.judged, elapsed_seconds)

    @property
    def of_machine(self) -> Iterator[Remark]:
        """Yield the findings besides the figures."""
        state, baseline = self.state, self._baseline
        yield from state.findings
        if baseline is not None and state.host is not None:
            changed = _texts(differences(baseline, state.host))
            yield Remark("compared-with", {"file": baseline.name, "changed": changed})
        if remote := [device for device in state.devices if not device.addressable]:
            processes = len({device.process_index for device in remote})
            facts: dict[str, Fact] = {"devices": len(remote), "processes": processes}
            yield Remark("not-tested", facts)

    def text(self) -> str:
        return rendered(view.build(self.judged, self.state.host, self.of_machine))

    @property
    def document(self) -> CheckResults:
        return check_results(
            self.state.host,
            self.state.devices,
            self.judged.verdicts,
            level=self._level,
            baseline=self._baseline.file if self._baseline else None,
            outcome=self.outcome,
        )

    @property
    def interrupted_where(self) -> str:
        job, exam = self.state.jobs.get("check"), self.exam
        if job is None or exam is None:
            return "Interrupted before the run began."
        test = job.work.test if isinstance(job.work, Check) else "collectives"
        number = exam.tests.index(test) + 1
        return (
            f"Interrupted in test {number} of {len(exam.tests)}, {test}: these are the"
            " results so far."
        )


def check_line(check: view.Judgement, elapsed_seconds: float) -> str:
    if check.test is None:
        return ""
    done = bar(view.progress(check))
    return f"{done} {elapsed_seconds:.0f} s  {view.doing(check)}"
