"""What a check has found so far: printed test by test, or as one document."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxtui.analysis.baseline import differences
from jaxtui.analysis.check import VerdictWord
from jaxtui.analysis.examination import Examination
from jaxtui.commands.check_request import Request
from jaxtui.commands.engine import Driver
from jaxtui.commands.terminal import (
    bar,
    in_colour,
    is_ascii,
    narrate,
    put,
    put_bytes,
    say,
    wipe,
)
from jaxtui.document import CheckResults, Outcome, check_results, encode
from jaxtui.format import plural
from jaxtui.model import CHECK_TESTS, Check, CheckTest
from jaxtui.text import painted as joined
from jaxtui.view import check as view
from jaxtui.view.devices import explain, finding_text
from jaxtui.view.text import INCOMPLETE, Line, painted, wrap

PLAIN = str.maketrans({"·": "-", "…": "...", "×": "x", "µ": "u", "—": "-", "≥": ">="})
"""What the sentences of a check have beyond ASCII, for terminals without it."""


@dataclass
class Report:
    """What has been read, judged; as text it is printed test by test."""

    checked: Driver
    request: Request
    as_json: bool
    printed: list[CheckTest] = field(default_factory=list)
    _shown: view.Report = view.NO_REPORT

    @property
    def examination(self) -> Examination | None:
        """``None`` until the devices are known."""
        exam = self.checked.state.series.get("check")
        return exam if isinstance(exam, Examination) else None

    @property
    def shown(self) -> view.Report:
        """All that was read, with its verdicts."""
        exam, baseline = self.examination, self.request.baseline
        self._shown = view.report(exam, last=self._shown, baseline=baseline)
        return self._shown

    @property
    def outcome(self) -> Outcome:
        """Whether every test was run, and came to an end."""
        examination = self.examination
        return (examination and examination.outcome) or "cancelled"

    @property
    def verdict(self) -> VerdictWord:
        """Of what there is."""
        return self.shown.word

    @property
    def results(self) -> CheckResults:
        """All of it as a record."""
        state, baseline = self.checked.state, self.request.baseline
        return check_results(
            state.host,
            state.devices,
            self.shown.judged,
            level=self.request.level,
            baseline=baseline.name if baseline else None,
            outcome=self.outcome,
        )

    def begin(self) -> None:
        """Say what the machine is, as soon as JAX is up."""
        state, baseline = self.checked.state, self.request.baseline
        compared = ""
        if baseline is not None and state.host is not None:
            # What the figures are compared with, and what has changed since.
            changed = ". ".join(differences(baseline, state.host))
            since = f", since when has changed: {changed}" if changed else ""
            day = baseline.saved_at[:10]
            compared = f"Compared with the baseline {baseline.name} of {day}{since}."
        if not self.as_json:
            self._put(self._heading(compared))
            return
        for text in (*map(finding_text, state.findings), compared):
            if text:
                narrate(text)

    def after(self, exam: Examination) -> None:
        """Print the test that was run, if it has all its readings."""
        job, following = self.checked.state.jobs["check"], exam.next_work
        assert isinstance(job.work, Check)
        if not self.checked.interrupted and (
            following is None or following.test != job.work.test
        ):
            self.ended(job.work.test)

    def ended(self, test: CheckTest) -> None:
        """Print the readings of a test, unless a document follows at the end."""
        shown = self.shown
        if self.as_json or not (judged := shown.of_test(test)):
            return
        self.printed.append(test)
        self._print([(), *view.block(test, judged, shown.devices)])

    def end(self) -> None:
        """Print what was not printed yet, and the verdict."""
        if self.as_json:
            put_bytes(encode(self.results))
            if self.outcome == "incomplete":
                say(INCOMPLETE)
        elif self.examination is not None:
            for test in CHECK_TESTS:
                if test not in self.printed:
                    self.ended(test)
            self._print([(), *view.closing(self.shown)])

    def _heading(self, compared: str) -> str:
        """The machine, what is to be known of it, and what will be tested."""
        state, tested = self.checked.state, self.shown.devices
        host, devices = state.host, state.devices
        facts = [host.hostname, host.cpu_model or "", f"jax {host.jax}"] if host else []
        facts += dict.fromkeys(
            one.device_kind for one in devices if one.platform != "cpu"
        )
        lines = [" · ".join(fact for fact in facts if fact), explain(devices)]
        for finding in state.findings:
            lines += finding_text(finding).splitlines()
        text = [part for line in (*lines, compared) for part in wrap(line)]
        theirs = [device for device in devices if not device.addressable]
        if theirs:
            processes = len({device.process_index for device in theirs})
            text += wrap(
                f"Not tested from here: {plural(len(theirs), 'device')} of "
                f"{plural(processes, 'other process')}; run `jaxtui check` there, too."
            )
        names = view.who([device.name for device in tested], tested)
        return "\n".join([*text, f"Check of {names}, level {self.request.level}:"])

    def _print(self, lines: Sequence[Line]) -> None:
        colour = in_colour(sys.stdout)
        self._put(joined(painted(line, colour=colour) for line in lines))

    def _put(self, text: str) -> None:
        wipe(sys.stderr)
        put(type(text)(text.translate(PLAIN)) if is_ascii(sys.stdout) else text)


def progress_line(
    examination: Examination,
    elapsed_seconds: float,
    width: int,
    *,
    ascii_only: bool,
) -> str:
    """How far a check is, never wider than ``width``."""
    check = examination.check or examination.next_work
    if check is None:
        return ""
    number = CHECK_TESTS.index(check.test)
    drawn = bar(number / len(CHECK_TESTS), ascii_only=ascii_only)
    what = examination.what or "starting"
    line = (
        f"{drawn} {elapsed_seconds:.0f} s  test {number + 1} of {len(CHECK_TESTS)}, "
        f"{check.test}: {what}"
    )
    return line[:width].rstrip()
