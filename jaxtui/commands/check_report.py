"""What a check has found so far: printed test by test, or as one document."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxtui.commands import check_text
from jaxtui.commands.check_block import block
from jaxtui.commands.check_request import Request
from jaxtui.commands.check_run import Checked
from jaxtui.commands.check_verdict import closing
from jaxtui.commands.findings import narrate
from jaxtui.commands.progress import wipe
from jaxtui.commands.terminal import in_colour, is_ascii, put, put_bytes, say
from jaxtui.document import INCOMPLETE, CheckResults, Outcome, check_results, encode
from jaxtui.health.baseline import differences
from jaxtui.health.rows import Judged
from jaxtui.health.verdict import VerdictWord, judge, overall
from jaxtui.model import CHECK_TESTS, CheckTest
from jaxtui.text import painted
from jaxtui.view.devices import finding_text

PLAIN = str.maketrans({"·": "-", "…": "...", "×": "x", "µ": "u", "—": "-", "≥": ">="})
"""What the sentences of a check have beyond ASCII, for terminals without it."""


@dataclass
class Report:
    """What has been read, judged; as text it is printed test by test."""

    checked: Checked
    request: Request
    as_json: bool
    printed: list[CheckTest] = field(default_factory=list)

    @property
    def judged(self) -> tuple[Judged, ...]:
        """Every reading with its verdict; those of one test come together."""
        examination = self.checked.examination
        if examination is None:
            return ()
        readings = examination.readings
        verdicts = judge(readings, examination.devices, self.request.baseline)
        pairs = zip(readings, verdicts, strict=True)
        return tuple(
            sorted(
                (Judged(reading, verdict) for reading, verdict in pairs),
                key=lambda one: CHECK_TESTS.index(one.reading.test),
            )
        )

    @property
    def outcome(self) -> Outcome:
        """Whether every test was run, and came to an end."""
        examination = self.checked.examination
        return (examination and examination.outcome) or "cancelled"

    @property
    def verdict(self) -> VerdictWord:
        """Of what there is."""
        return overall([one.verdict for one in self.judged])

    @property
    def results(self) -> CheckResults:
        """All of it as a record."""
        state, compared = self.checked.state, self.request.baseline
        return check_results(
            state.host,
            state.devices,
            self.judged,
            level=self.request.level,
            baseline=compared.name if compared else None,
            outcome=self.outcome,
        )

    def begin(self) -> None:
        """Say what the machine is, as soon as JAX is up."""
        state, examination = self.checked.state, self.checked.examination
        assert examination is not None
        compared = self._compared()
        if self.as_json:
            for text in (*map(finding_text, state.findings), compared):
                if text:
                    narrate(text)
            return
        self._put(
            check_text.heading(
                state.host,
                state.devices,
                examination.devices,
                state.findings,
                compared,
                self.request.level,
            )
        )

    def ended(self, test: CheckTest) -> None:
        """Print the readings of a test, unless a document follows at the end."""
        examination = self.checked.examination
        mine = [one for one in self.judged if one.reading.test == test]
        if self.as_json or examination is None or not mine:
            return
        self.printed.append(test)
        colour = in_colour(sys.stdout)
        text = block(test, mine, examination.devices, colour=colour)
        self._put(painted(("", text)))

    def end(self) -> None:
        """Print what was not printed yet, and the verdict."""
        if self.as_json:
            put_bytes(encode(self.results))
            if self.outcome == "incomplete":
                say(INCOMPLETE)
            return
        judged, examination = self.judged, self.checked.examination
        if examination is None:
            return
        for test in dict.fromkeys(one.reading.test for one in judged):
            if test not in self.printed:
                self.ended(test)
        words = closing(
            [one.verdict for one in judged],
            examination.devices,
            outcome=self.outcome,
            disturbed=_disturbed(judged),
            colour=in_colour(sys.stdout),
        )
        self._put(painted(("", words)))

    def _compared(self) -> str:
        """What the figures are compared with, and what has changed since."""
        kept, host = self.request.baseline, self.checked.state.host
        if kept is None or host is None:
            return ""
        changed = differences(kept, host)
        since = f", since when has changed: {'. '.join(changed)}" if changed else ""
        return f"Compared with the baseline {kept.name} of {kept.saved_at[:10]}{since}."

    def _put(self, text: str) -> None:
        wipe(sys.stderr)
        put(type(text)(text.translate(PLAIN)) if is_ascii(sys.stdout) else text)


def _disturbed(judged: Sequence[Judged]) -> str:
    """Who else used the cores, for all tests whose verdicts do not say it."""
    found = [
        one.reading
        for one in judged
        if one.reading.disturbed and one.verdict.verdict == "pass"
    ]
    if not found:
        return ""
    # One of the sentences: they differ in a digit.
    tests = dict.fromkeys(one.test for one in found)
    return f"{', '.join(tests)}: {found[0].disturbed}"
