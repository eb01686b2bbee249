"""What a health check says: its rows, its reasons, and what to do about them.

``block`` and ``closing`` are the whole text, test by test, as lines of spans whose
roles are verdicts; ``check_screen`` lays parts of it out for a screen.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jaxtui import format as fmt
from jaxtui.analysis.baseline import Baseline
from jaxtui.analysis.check import (
    SEVERITY,
    Verdict,
    VerdictWord,
    judge,
    number_and_unit,
    overall,
)
from jaxtui.analysis.examination import Examination
from jaxtui.model import CHECK_TESTS, DEVICE, CheckTest, Device
from jaxtui.view.chipmap import Mark
from jaxtui.view.text import COLUMNS, INCOMPLETE, Line, Span, fold, plain

LOOKS: dict[VerdictWord | None, Mark] = {
    "pass": Mark("✓", "pass", "check-pass"),
    "low": Mark("▾", "low", "check-low"),
    "impossible": Mark("!", "impossible", "check-fail"),
    "fail": Mark("✗", "FAIL", "check-fail"),
    "skipped": Mark("–", "skipped", "check-none"),
    None: Mark("·", "untested", "check-none"),
}
"""Verdicts as a screen draws them: they must tell without a colour, too."""

ROLES = {word: look.role for word, look in LOOKS.items() if word}
"""Of verdicts in drawings and tables; themes have a colour for each."""

FINE: tuple[VerdictWord | None, ...] = (None, "pass", "skipped")
"""Where there is nothing to worry about."""

ROWS_APART = 3
"""So many devices with the same trouble get a row each; more share one."""

MOST_CULPRITS = 4
"""So many are blamed in a sentence; the rows name all."""

WIDEST_NAMES = 18
NARROWEST_WHAT = 16

LARGEST_ORIGINAL = 3
"""So many lines of an original text are shown; the JSON has them all."""

WITH_WORDS: tuple[CheckTest, ...] = (
    "present",
    "dispatch",
    "numerics",
    "together",
)
"""Where a figure that is as it should be needs what is said of it. Elsewhere that tells
how it was come by, such as its rounds, which is in the JSON."""

RELATIONS = {"most": ", at most", "least": ", at least", "exact": ", must be"}
"""Of a figure to its bound, by the kind of that."""

_FIGURE = re.compile(r"[\d.]+")


# Rows.


@dataclass(frozen=True, slots=True)
class Row:
    """What one or more devices have in common."""

    members: tuple[Verdict, ...]
    """At least one; same test, same thing measured, same verdict."""

    @property
    def word(self) -> VerdictWord:
        return self.members[0].word

    @property
    def what(self) -> str:
        return self.members[0].reading.what

    @property
    def names(self) -> tuple[str, ...]:
        """Of the devices; none for a reading of the machine as a whole."""
        return tuple(one.reading.device for one in self.members if one.reading.device)

    @property
    def figure(self) -> str:
        """What was measured, beside what was expected if that is one figure for all.

        ``171 of 197 TFLOP/s``, ``2.1e-4, at most 1e-2``, ``168-171 TFLOP/s``.
        """
        first = self.members[0].reading
        measured = [one.reading.measured for one in self.members]
        values = [value for value in measured if value is not None]
        if not values:
            return ""
        low, high = min(values), max(values)
        number, unit = _span(
            number_and_unit(low, first.unit), number_and_unit(high, first.unit)
        )
        text = f"{number} {unit}".rstrip()
        expected = {one.expected for one in self.members}
        if len(expected) > 1 or None in expected:
            return text
        (wanted, of), relation = number_and_unit(expected.pop(), first.unit), " of"
        if self.members[0].share is not None:
            relation = " of" if self._more_is_better else ", against"
        elif first.expected and first.unit != "chips":
            relation = RELATIONS.get(first.expected.kind, " of")
        if relation == " of" and unit == of:
            text = number
        return f"{text}{relation} {wanted} {of}".rstrip()

    @property
    def share(self) -> str:
        """How much of the expectation was reached; empty where that is no matter."""
        if not self.shares:
            return ""
        low, high = min(self.shares), max(self.shares)
        if self._more_is_better:
            return " ".join(_span((fmt.percents(low), "%"), (fmt.percents(high), "%")))
        return _span((fmt.ratio(low), ""), (fmt.ratio(high), ""))[0]

    @property
    def shares(self) -> list[float]:
        return [one.share for one in self.members if one.share is not None]

    @property
    def _more_is_better(self) -> bool:
        return self.members[0].reading.unit not in ("seconds", "")


def rows(verdicts: Sequence[Verdict]) -> tuple[Row, ...]:
    """The readings of one test: those that agree together, those in trouble apart.

    Rows of the same thing follow each other, the best first.
    """
    alike: dict[tuple[str, ...], list[Verdict]] = {}
    for one in verdicts:
        trouble = ""
        if one.word != "pass":
            # Different figures are the same trouble, different faults are not.
            trouble = one.reading.fault or one.reading.skipped
        alike.setdefault((one.reading.what, one.word, trouble), []).append(one)
    found: list[Row] = []
    for (_, word, _), members in alike.items():
        together = word in ("pass", "skipped") or len(members) > ROWS_APART
        found += map(Row, [tuple(members)] if together else zip(members, strict=True))
    whats = list(dict.fromkeys(one.reading.what for one in verdicts))
    found.sort(key=lambda row: (whats.index(row.what), SEVERITY.index(row.word)))
    return tuple(found)


def _span(low: tuple[str, str], high: tuple[str, str]) -> tuple[str, str]:
    """Two numbers with their units as one: ``168-171`` and ``TFLOP/s``."""
    if low == high:
        return low
    if low[1] == high[1]:
        return f"{low[0]}-{high[0]}", high[1]
    return f"{' '.join(low)} to {high[0]}", high[1]


# Devices.


def short_names(names: Sequence[str], devices: Sequence[Device]) -> str:
    """Devices in short: ``tpu:3 at 1,1,0``, ``tpu:0-7``, ``12 devices``."""
    if not names:
        return "machine"
    if len(names) == 1:
        return label(names[0], devices)
    platforms = {name.partition(":")[0] for name in names}
    short = f"{len(names)} devices"
    if len(platforms) > 1:
        return short
    numbers = fmt.runs([int(name.partition(":")[2]) for name in names])
    text = f"{platforms.pop()}:{numbers}"
    return text if len(text) <= WIDEST_NAMES else short


def label(name: str, devices: Sequence[Device]) -> str:
    """A device and where it sits: ``tpu:3 at 1,1,0``."""
    return next((one.label for one in devices if one.name == name), name)


# The check as a whole.


@dataclass(frozen=True, slots=True)
class Report:
    """A check with its verdicts, sorted by device and test."""

    exam: Examination | None = None
    verdicts: tuple[Verdict, ...] = ()
    """Test by test, in the order in which they were read."""
    stopping: bool = False
    """The user has asked for its end."""
    elapsed_seconds: float = 0.0
    _by_device: Mapping[str | None, Sequence[Verdict]] = field(default_factory=dict)

    @property
    def devices(self) -> tuple[Device, ...]:
        return () if self.exam is None else self.exam.devices

    @property
    def running(self) -> bool:
        return self.exam is not None and self.exam.outcome is None

    @property
    def test(self) -> CheckTest | None:
        """The test that is running or comes next."""
        check = self.exam and (self.exam.check or self.exam.next_work)
        return check.test if check else None

    @property
    def word(self) -> VerdictWord:
        return overall(self.verdicts)

    def of_test(self, test: CheckTest) -> tuple[Verdict, ...]:
        return tuple(one for one in self.verdicts if one.reading.test == test)

    def of_device(self, device: str | None) -> Sequence[Verdict]:
        """All that was read of one device, or of the machine as a whole."""
        return self._by_device.get(device, ())

    def at(self, device: str | None, test: CheckTest) -> list[Verdict]:
        """What a test has read of one device, or of the machine as a whole."""
        return [one for one in self.of_device(device) if one.reading.test == test]

    def word_of(self, device: str) -> VerdictWord | None:
        """The worst verdict of a device; ``None`` before there is any."""
        found = self.of_device(device)
        return overall(found) if found else None

    def is_done(self, test: CheckTest) -> bool:
        """Whether a test has run, and was not broken off by the user."""
        order, current = CHECK_TESTS.index, self.test
        waits = self.running and (current is None or order(test) > order(current))
        return test != current and not waits and bool(self.of_test(test))


NO_REPORT = Report()


def report(
    exam: Examination | None,
    *,
    last: Report = NO_REPORT,
    baseline: Baseline | None = None,
    stopping: bool = False,
    elapsed_seconds: float = 0.0,
) -> Report:
    """A check with its verdicts.

    Readings that the last report has judged are not judged again.
    """
    if exam is None:
        return NO_REPORT
    if last.exam is not None and exam.readings is last.exam.readings:
        return replace(
            last, exam=exam, stopping=stopping, elapsed_seconds=elapsed_seconds
        )
    found = judge(exam.readings, exam.devices, baseline)
    verdicts = sorted(found, key=lambda one: CHECK_TESTS.index(one.reading.test))
    by_device: dict[str | None, list[Verdict]] = {}
    for one in verdicts:
        by_device.setdefault(one.reading.device, []).append(one)
    return Report(exam, tuple(verdicts), stopping, elapsed_seconds, by_device)


def worst_row(verdicts: Sequence[Verdict]) -> Row | None:
    """The row of a test that tells most: the worst verdict, then the lowest share."""

    def badness(row: Row) -> tuple[int, float]:
        return SEVERITY.index(row.word), -min(row.shares, default=math.inf)

    return max(rows(verdicts), key=badness, default=None)


def rank(one: Verdict) -> int:
    """How far up in a list a verdict belongs: all that is in order is alike."""
    return max(0, SEVERITY.index(one.word) - SEVERITY.index("pass"))


# What it comes to.


def meaning(
    word: VerdictWord, verdicts: Sequence[Verdict], devices: Sequence[Device]
) -> str:
    """The overall verdict in words: who is to blame, and what to do next."""
    if word == "skipped":
        return "Nothing could be tested."
    if word == "pass":
        if not any(map(_is_unrated, verdicts)):
            return "Everything that was tested is as it should be; nothing to do."
        return (
            "Everything that was tested works. To see later whether it has become "
            "slower, keep these figures with `jaxtui check --json > FILE` and compare "
            "with `jaxtui check --baseline FILE`."
        )
    guilty = [one for one in verdicts if one.word == word]
    low = [one for one in verdicts if one.word == "low"]
    named = _culprits(guilty, devices)
    names = dict.fromkeys(one.reading.device for one in guilty)
    most = None in names or len(names) > min(MOST_CULPRITS, len(devices) // 2)
    only = "" if most else f" --device {','.join(map(str, names))}"
    again = f"`jaxtui check --level full{only}`"
    if word == "low":
        return (
            f"It works, but is not as it should be: {named}. See who else uses the "
            f"machine, then look closer with {again}."
        )
    besides = f" Low besides: {_culprits(low, devices)}." if low else ""
    if word == "impossible":
        return (
            f"More than the hardware can do was measured: {named}. Believe no timing "
            f"of this machine until {again} says otherwise.{besides}"
        )
    return (
        f"Do not rely on {named}. Restart the machine and check again; if it stays, "
        "hand what `jaxtui check --json` prints to whoever provides the machine."
        f"{besides}"
    )


def _is_unrated(one: Verdict) -> bool:
    """Only speed is: chips are counted, and memory is what there is."""
    timed = one.reading.unit in ("flop/s", "bytes/s", "seconds")
    return timed and one.reading.measured is not None and one.expected is None


def _culprits(verdicts: Sequence[Verdict], devices: Sequence[Device]) -> str:
    """``tpu:3 at 1,1,0 in compute and together; this machine in present``."""
    tests: dict[str | None, list[str]] = {}
    for one in verdicts:
        tests.setdefault(one.reading.device, []).append(one.reading.test)
    alike: dict[str, list[str]] = {}
    for name, failed in tests.items():
        alike.setdefault(fmt.listed(failed), []).extend([name] if name else [])
    texts = [
        f"{short_names(names, devices) if names else 'this machine'} in {failed}"
        for failed, names in alike.items()
    ]
    if len(texts) > MOST_CULPRITS:
        texts[MOST_CULPRITS:] = ["and more, see above"]
    return "; ".join(texts)


def marks(report: Report, devices: Sequence[Device]) -> dict[str, Mark]:
    """What a chip map says of each device, in the order of its legend."""
    found: dict[str, Mark] = {}
    words = {one.name: report.word_of(one.name) for one in devices}
    for word in (*SEVERITY, None):
        found.update({name: LOOKS[word] for name in words if words[name] == word})
    return found


# The whole text, test by test.


def block(
    test: CheckTest, verdicts: Sequence[Verdict], devices: Sequence[Device]
) -> list[Line]:
    """The rows of one test, and what there is to say of them."""
    word = overall(verdicts)
    lines: list[Line] = [(Span(f"{test}: "), Span(word, word))]
    shown, known = list[Row](), set[str]()
    alike: dict[tuple[object, ...], list[Row]] = {}
    for row in rows(verdicts):
        if row.word == "skipped" or (row.word == "pass" and not row.figure):
            key = (row.word, row.names, row.members[0].reason)
            alike.setdefault(key, []).append(row)
        else:
            shown.append(row)
    for row, cells in zip(shown, _columns(shown, devices), strict=True):
        lines += cells
        lines += _remarks(row, devices, known)
    for several in alike.values():
        lines += _without_figures(several, devices)
    return lines


def closing(report: Report) -> list[Line]:
    """The sources, who disturbed it, and the verdict in words as the last lines."""
    word, exam = report.word, report.exam
    outcome = (exam and exam.outcome) or "cancelled"
    parts: list[list[Line]] = []
    if found := list(sources(report.verdicts)):
        parts.append(_text("What was expected, and who says so:"))
        parts[0] += [line for one in found for line in _text(one, "  ", "    ")]
    unrated = [one.reading.test for one in report.verdicts if _is_unrated(one)]
    if unrated:
        kinds = fmt.listed(device.device_kind for device in report.devices)
        parts.append(
            _text(
                f"Nothing to compare the figures of {fmt.listed(unrated)} with: jaxtui "
                f"knows of no published ones for {kinds}."
            )
        )
    if outcome == "incomplete":
        parts.append(_text(INCOMPLETE))
    passed = (one.reading for one in report.verdicts if one.word == "pass")
    if disturbed := [one for one in passed if one.disturbed]:
        # One of the sentences: they differ in a digit.
        tests = ", ".join(dict.fromkeys(one.test for one in disturbed))
        parts.append(_text(f"{tests}: {disturbed[0].disturbed}"))
    title = "Verdict: " if outcome == "complete" else "Verdict of what there is: "
    # Where something is missing, that nothing is wrong would be too much.
    fine = outcome == "incomplete" and word in ("pass", "skipped")
    said = "Check again." if fine else meaning(word, report.verdicts, report.devices)
    last = (Span(title), Span(word, word), Span(f". {said}"))
    parts.append(fold(last, COLUMNS, whole_words=True))
    return [line for part in parts for line in ((), *part)][1:]


def text(report: Report) -> str:
    """All of it as plain text, as the command line prints it."""
    lines: list[Line] = []
    for test in CHECK_TESTS:
        if verdicts := report.of_test(test):
            lines += [*block(test, verdicts, report.devices), ()]
    return "".join(f"{plain(line)}\n" for line in [*lines, *closing(report)])


def _text(text: str, indent: str = "", later: str | None = None) -> list[Line]:
    return fold((Span(text),), COLUMNS, indent, later, whole_words=True)


def sources(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Who says what was to be expected, test by test."""
    tests: dict[str, list[str]] = {}
    for one in verdicts:
        if one.expected is not None and one.word != "skipped":
            tests.setdefault(one.source, []).append(one.reading.test)
    named: dict[str, list[str]] = {}
    for source, of in tests.items():
        named.setdefault(fmt.listed(of), []).append(source)
    for names, several in named.items():
        yield f"{names}: {'; '.join(several)}"


def _columns(found: Sequence[Row], devices: Sequence[Device]) -> Iterator[list[Line]]:
    """Each row in columns; one whose name is too long takes more lines than one."""
    cells = [
        (row.what, short_names(row.names, devices), row.figure, row.share)
        for row in found
    ]
    if not cells:
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    others = sum(width + 2 for width in widths[1:] if width)
    widths[0] = min(widths[0], max(COLUMNS - 2 - others, NARROWEST_WHAT))
    for what, *rest in cells:
        first, *more = textwrap.wrap(what, widths[0], break_on_hyphens=False) or [""]
        line = "  ".join(
            text.ljust(width)
            for text, width in zip((first, *rest), widths, strict=True)
            if width
        )
        lines = [f"  {line}".rstrip(), *(f"    {part}" for part in more)]
        yield [(Span(line),) for line in lines]


def _remarks(row: Row, devices: Sequence[Device], known: set[str]) -> Iterator[Line]:
    """Why a row is not as it should be, or what else there is to say about it.

    Sentences that are ``known`` from other rows are not said again.
    """
    first = row.members[0]
    if row.word == "pass":
        yield from _text(_what_else(row, known), "    ")
        return
    new = " ".join(one for one in first.sentences if one not in known)
    known.update(first.sentences)
    reason = (Span(row.word, row.word), Span(f": {new}"))
    yield from fold(reason, COLUMNS, "    ", whole_words=True)
    if len(row.members) > 1:
        # A device and its place stay on one line.
        places = (label(name, devices).replace(" ", "\xa0") for name in row.names)
        for line in _text(f"The same on each of {'; '.join(places)}.", "    "):
            yield tuple(Span(span.text.replace("\xa0", " ")) for span in line)
    yield from _original(first)


def _what_else(row: Row, known: set[str]) -> str:
    """What a figure that is as it should be does not say by itself."""
    first = row.members[0].reading
    # What only differs in its figures is told once.
    alike = _FIGURE.sub("#", first.said)
    if first.test not in WITH_WORDS or alike in known or not first.said:
        return ""
    known.add(alike)
    # Where every device has its own figures, those of one are enough.
    several = len({one.reading.said for one in row.members}) > 1
    return f"{first.device}: {first.said}" if several else first.said


def _without_figures(
    several: Sequence[Row], devices: Sequence[Device]
) -> Iterator[Line]:
    """One sentence for all that has no figure for the same reason."""
    row, first = several[0], several[0].members[0]
    subjects = [short_names(row.names, devices)] if row.names else []
    if row.names and row.what != first.reading.test:
        more = f" and {len(several) - 1} more" if len(several) > 1 else ""
        subjects.insert(0, f"{row.what}{more}")
    reason = " ".join(first.texts)
    if len(row.members) == 1 and DEVICE in reason:
        subjects.pop()
    reason = reason.replace(DEVICE, "each" if len(row.members) > 1 else first.label)
    text = ": ".join((*subjects, reason))
    if row.word == "skipped":
        line: Line = (Span("skipped", "skipped"), Span(f": {text}"))
        yield from fold(line, COLUMNS, "  ", whole_words=True)
        yield from _original(first)
    else:
        yield from _text(text, "  ")


def _original(verdict: Verdict) -> Iterator[Line]:
    """The end of a traceback, the beginning of anything else, unless it was said."""
    found = (line.strip() for line in verdict.reading.detail.splitlines())
    lines = list(filter(None, found))
    traceback = bool(lines) and lines[0].startswith("Traceback")
    for line in lines[-1:] if traceback else lines[:LARGEST_ORIGINAL]:
        if line not in verdict.reason:
            yield from _text(line, "    | ")
