"""``jaxtui check``: is this machine all right? A verdict, live, and an exit code."""

from __future__ import annotations

from collections.abc import Sequence

import click

from jaxtui.analysis import baseline as baselines
from jaxtui.analysis.baseline import Baseline, differences
from jaxtui.analysis.check import EXIT_CODES
from jaxtui.analysis.examination import Examination, begin, longest_seconds
from jaxtui.commands import FINE, CannotRun
from jaxtui.commands.common import Common, engine_flags, valued
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import DEVICE_LIST, LIMIT, Parsed, json_flag, one_of
from jaxtui.commands.output import close
from jaxtui.commands.progress import bar, live_line, progress_line
from jaxtui.commands.terminal import in_colour, put, say
from jaxtui.format import plural
from jaxtui.model import (
    CHECK_LEVELS,
    CHECK_TESTS,
    Check,
    CheckLevel,
    CheckTest,
    Device,
    SelectionError,
)
from jaxtui.selection import parse_devices
from jaxtui.state import State, with_series
from jaxtui.text import join_painted
from jaxtui.view import check as view
from jaxtui.view.devices import explain, finding_text, machine_line
from jaxtui.view.document import CheckResults, Outcome, check_results
from jaxtui.view.text import Line, ansi, wrap


@click.command("check")
@valued(
    "--level",
    "LEVEL",
    "quick, about ten seconds, or full, some minutes.",
    "quick",
    type=one_of("level", CHECK_LEVELS),
)
@valued(
    "--device",
    "DEVICES",
    "cpu:0,cpu:3 or tpu.  [default: all of this process]",
    type=DEVICE_LIST,
)
@valued(
    "--limit",
    "SECONDS",
    "For each test: a device that takes longer counts as hung.  "
    "[default: a minute or more]",
    type=LIMIT,
)
@valued(
    "--baseline",
    "FILE",
    "Compare with what `jaxtui check --json > FILE` printed.",
    # Before anything is measured: afterwards would be a pity.
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
    """Say whether everything of this machine is there, right and fast."""
    longest = longest_seconds(level)
    if limit is not None and limit <= longest:
        raise SelectionError(
            f"The limit of {limit:g} s is shorter than the longest test measures at "
            f"level {level}: give more than {longest:g} seconds."
        )
    check = _Check(common, level, baseline, as_json)

    async def run() -> None:
        async with check.started() as session, live_line(check.line):
            await session.ready()
            session.refuse("verdicts")
            chosen = _chosen(session.state, device, baseline)
            exam = begin(chosen, level, limit)
            session.state = with_series(session.state, "check", exam)
            check.begin()
            await session.play(exam, "check", check.after)

    check.drive(run())
    word = check.report.word
    return close(
        document=check.document,
        text=check.rest if check.exam else None,
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
    chosen = tuple(device for device in state.devices if device.name in names)
    if not chosen:
        raise CannotRun("JAX has no device that this process can use.")
    if baseline is not None and state.host is not None:
        # The machine counts: a few of its devices may be compared, too.
        found = baselines.other_hardware(baseline, state.devices, state.host)
        if found:
            differs = ". ".join(found)
            raise CannotRun(
                f"The baseline {baseline.file} is of other hardware. {differs}."
            )
    return chosen


class _Check(Driver):
    """How far a check has come; as text it is printed test by test."""

    def __init__(
        self,
        common: Common,
        level: CheckLevel,
        baseline: Baseline | None,
        as_json: bool,
    ) -> None:
        super().__init__(common)
        self._level: CheckLevel = level
        self._baseline = baseline
        self._as_json = as_json
        self._report = view.NO_REPORT
        self._printed: set[CheckTest] = set()

    @property
    def exam(self) -> Examination | None:
        """``None`` until the devices are known."""
        exam = self.state.series.get("check")
        return exam if isinstance(exam, Examination) else None

    @property
    def report(self) -> view.Report:
        last, baseline = self._report, self._baseline
        self._report = view.report(self.exam, last=last, baseline=baseline)
        return self._report

    @property
    def outcome(self) -> Outcome:
        return (self.exam and self.exam.outcome) or "cancelled"

    def line(self, elapsed_seconds: float) -> str:
        exam = self.exam
        if exam is None or self.state.engine == "starting":
            return progress_line(self.state, elapsed_seconds)
        return check_line(exam, elapsed_seconds)

    def begin(self) -> None:
        """Say what the machine is, as soon as JAX is up."""
        state, baseline = self.state, self._baseline
        compared = ""
        if baseline is not None and state.host is not None:
            # What the figures are compared with, and what has changed since.
            changed = ". ".join(differences(baseline, state.host))
            since = f", since when has changed: {changed}" if changed else ""
            compared = f"Compared with the baseline {baseline.name}{since}."
        if not self._as_json:
            put(self._heading(compared))
            return
        for text in (*map(finding_text, state.findings), compared):
            if text:
                say(text)

    def _heading(self, compared: str) -> str:
        """The machine, what is to be known of it, and what will be tested."""
        state, tested = self.state, self.report.devices
        kinds = [one.device_kind for one in state.devices if one.platform != "cpu"]
        lines = [machine_line(state.host, *dict.fromkeys(kinds))]
        lines.append(explain(state.devices))
        for finding in state.findings:
            lines += finding_text(finding).splitlines()
        lines.append(compared)
        if theirs := [device for device in state.devices if not device.addressable]:
            processes = len({device.process_index for device in theirs})
            lines.append(
                f"Not tested from here: {plural(len(theirs), 'device')} of "
                f"{plural(processes, 'other process')}; run `jaxtui check` there, too."
            )
        names = view.short_names([device.name for device in tested], tested)
        return f"{wrap(*lines)}\nCheck of {names}, level {self._level}:"

    def after(self, exam: Examination) -> None:
        """Print the test that was run, if it has all its readings."""
        job, following = self.state.jobs["check"], exam.next_work
        assert isinstance(job.work, Check)
        ended = following is None or following.test != job.work.test
        if ended and not self._as_json and (lines := self._readings(job.work.test)):
            put(_painted(lines))

    def _readings(self, test: CheckTest) -> list[Line]:
        """A test's, below a blank line; none if there are none, or they are printed."""
        verdicts = self.report.of_test(test)
        if not verdicts or test in self._printed:
            return []
        self._printed.add(test)
        return [(), *view.block(test, verdicts, self.report.devices)]

    def rest(self) -> str:
        """What was not printed yet, and the verdict."""
        lines = [line for test in CHECK_TESTS for line in self._readings(test)]
        return _painted([*lines, (), *view.closing(self.report)])

    @property
    def document(self) -> CheckResults:
        return check_results(
            self.state.host,
            self.state.devices,
            self.report.verdicts,
            level=self._level,
            baseline=self._baseline.file if self._baseline else None,
            outcome=self.outcome,
        )

    @property
    def interrupted_where(self) -> str:
        job = self.state.jobs.get("check")
        if job is None or not isinstance(job.work, Check):
            return "Interrupted before the first test."
        number = CHECK_TESTS.index(job.work.test) + 1
        return (
            f"Interrupted in test {number} of {len(CHECK_TESTS)}, {job.work.test}: "
            "this is what had arrived."
        )


def _painted(lines: Sequence[Line]) -> str:
    colour = in_colour()
    return join_painted(ansi(line, colour=colour) for line in lines)


def check_line(exam: Examination, elapsed_seconds: float) -> str:
    check = exam.check or exam.next_work
    if check is None:
        return ""
    number = CHECK_TESTS.index(check.test)
    return (
        f"{bar(number / len(CHECK_TESTS))} {elapsed_seconds:.0f} s  test {number + 1} "
        f"of {len(CHECK_TESTS)}, {check.test}: {exam.what or 'starting'}"
    )
