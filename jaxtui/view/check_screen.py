"""The health check on a screen that has room for a part of it, for any width.

The roles of its spans are verdicts, ``muted`` and ``title``; that of a badge is
``badge``, or its verdict after ``badge-``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui.analysis.check import Judged, VerdictWord
from jaxtui.analysis.examination import Examination
from jaxtui.model import CHECK_TESTS, CheckTest, Device
from jaxtui.view.check import (
    FINE,
    MARKS,
    WORDS,
    Report,
    Row,
    anonymous,
    badness,
    meaning,
    placed,
    test_cell,
    who,
    worry,
    worst_row,
    worst_word,
)
from jaxtui.view.text import INCOMPLETE, Line, Span, fold

_NAME = max(map(len, CHECK_TESTS)) + 2
_WORD = len("impossible") + 2
_INDENT = 2 + _NAME + _WORD
"""Where the figures of a test begin on a screen."""

_ROOMY = 90
"""From so many columns on, what belongs to a test begins where its figures do."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How much is told of a test; the details of a device tell all of it."""

    reasons: int
    """How many readings that did not pass are explained."""
    sentences: int
    """Of each reason."""
    sources: bool
    """Whether to say where expectations come from."""


BRIEF, LONG = Depth(1, 2, False), Depth(3, 2, True)
_ONE_LINE = Depth(0, 0, False)
"""While a check is running: every test in one line, so that all nine are in view."""


def summary(report: Report, width: int) -> list[Line]:
    """What the check comes to so far, and what to do about it."""
    exam, word = report.exam, report.word
    if exam is None:
        return []
    count, count_of_tests = fmt.plural(len(report.devices), "device"), len(CHECK_TESTS)
    so_far = (Span(" So far: "), Span(WORDS[word], word))
    if report.running:
        place = 0 if report.test is None else CHECK_TESTS.index(report.test) + 1
        said = f" {count}, {exam.level}: test {place} of {count_of_tests}"
        head = Span("STOPPING" if report.stopping else "CHECKING", "title")
        running: Line = (head, Span(said))
        return fold((*running, Span("."), *so_far) if report.judged else running, width)
    advice = meaning(word, report.verdicts, report.devices)
    if exam.outcome == "complete":
        badge = Span(f" {WORDS[word].upper()} ", f"badge-{word}")
        text: Line = (badge, Span(f" {advice}"))
    else:
        read = sum(bool(report.of_test(test)) for test in CHECK_TESTS)
        title, said = " STOPPED ", f" {read} of {count_of_tests} tests have readings."
        if exam.outcome == "incomplete":
            title, said = " INCOMPLETE ", f" {INCOMPLETE.partition(': ')[2]}"
        rest = "." if word in FINE else f". {advice}"
        text = (Span(title, "badge"), Span(said), *so_far, Span(rest))
    return [*fold(text, width), *_keys(report, exam, width)]


def _keys(report: Report, exam: Examination, width: int) -> list[Line]:
    """What was checked, and what can be done next, as far as there is room."""
    facts = [exam.level, fmt.plural(len(report.devices), "device")]
    if report.elapsed_seconds:
        facts.append(fmt.duration(report.elapsed_seconds))
    text = ", ".join(facts)
    for key in ("c again", "C full", "Esc hides", "y copies", "PgDn more"):
        if len(text) + 3 + len(key) <= width:
            text += f" · {key}"
    return fold((Span(text, "muted"),), width)


def overview(report: Report, width: int, depth: Depth) -> list[Line]:
    """The nine tests, then what was read of the machine as a whole.

    They come in the order in which they are run, and once the check has ended with
    those first that did not pass.

    Args:
        report: the check.
        width: columns of a line.
        depth: how much there is room for.
    """
    tests = list(CHECK_TESTS)
    if not report.running:
        worries = {
            test: max(map(worry, report.of_test(test)), default=0) for test in tests
        }
        tests.sort(key=worries.__getitem__, reverse=True)
    lines: list[Line] = []
    for test in tests:
        lines += _test(report, test, width, _ONE_LINE if report.running else depth)
    if machine := report.of_device(None):
        lines += [(), (Span("This machine as a whole", "title"),)]
        lines += _readings(machine, width)
    return lines


def in_a_line(report: Report, name: str, width: int) -> Line:
    """A device in one line: what is not as it should be, or that nothing is wrong."""
    if name not in {device.name for device in report.devices}:
        return (Span(f"{name} is not tested: another process has it.", "muted"),)
    word = report.word_of(name)
    if word is None:
        return (Span(f"{name}: nothing was read yet.", "muted"),)
    bad = [
        f"{test} {test_cell(report, name, test).text}"
        for test in CHECK_TESTS
        if worst_word(report.at(name, test)) not in FINE
    ]
    where, found = placed(name, report.devices), WORDS[word]
    rest, hint = f": {', '.join(bad)}" if bad else "", "d shows its figures"
    room = max(0, width - len(where) - 1 - len(found) - len(hint) - 2)
    if len(rest) > room:
        rest = rest[: max(0, room - 1)] + "…"
    return (
        Span(where, "title"),
        Span(" "),
        Span(found, word),
        Span(rest + " " * (room - len(rest) + 2)),
        Span(hint, "muted"),
    )


def details(report: Report, name: str, width: int) -> list[Line]:
    """All that was read of a device, what is wrong before the rest; empty at first."""
    found = sorted(report.of_device(name), key=worry, reverse=True)
    if not found:
        return []
    head = Span(f"{placed(name, report.devices)} in the check", "title")
    return [(head,), *_readings(found, width)]


def _test(report: Report, test: CheckTest, width: int, depth: Depth) -> Iterator[Line]:
    """A test in a line, and beneath it what is not as it should be."""
    stage, found = report.stage(test), report.of_test(test)
    word, row = worst_word(found), worst_row(found)
    mark, shown, role = " ", "not run", "muted"
    text: Line = ()
    if stage == "running":
        doing = (report.exam and report.exam.what) or "starting"
        mark, shown, role, text = "▶", "running", "title", (Span(doing),)
    elif row is None or word is None:
        shown = "waiting" if stage == "waiting" else "not run"
    else:
        mark, shown, role = MARKS[word], WORDS[word], word
        text = _figures(row, report.devices, width - _INDENT)
    head: Line = (
        Span(f"{mark} ", role),
        Span(test.ljust(_NAME), "muted" if role == "muted" else "label"),
        Span(shown.ljust(_WORD), role),
    )
    first, *more = fold(text, max(1, width - _INDENT)) or [()]
    yield (*head, *first)
    for line in more:
        yield (Span(" " * _INDENT), *line)
    indent = " " * (_INDENT if width >= _ROOMY else 4)
    for reason in _reasons(found, depth):
        yield from fold((Span(reason),), width, indent)
    if depth.sources and row is not None and row.verdict in FINE:
        yield from fold((Span(_source(row.members[0]), "muted"),), width, indent)


def _figures(row: Row, devices: Sequence[Device], room: int) -> Line:
    """Figure, of which devices, and what was measured, as far as there is room."""
    every_device = len(row.names) in (0, len(devices))
    share = f" ({row.share})" if row.share else ""
    parts = [f"{row.figure}{share}", "" if every_device else who(row.names, devices)]
    text = ", ".join(part for part in parts if part)
    # What did not pass is explained beneath, beginning with what was measured.
    told = row.what in CHECK_TESTS or row.verdict not in FINE
    if told or (text and len(text) + 2 + len(row.what) > room):
        return (Span(text),)
    return (Span(f"{text}  " if text else ""), Span(row.what, "muted"))


def _reasons(found: Sequence[Judged], depth: Depth) -> Iterator[str]:
    """Why readings did not pass, the worst first: each reason once."""
    fine: tuple[VerdictWord, ...] = ("pass",)
    if depth == BRIEF and worst_word(found) != "skipped":
        # A part that was left out matters less than the room that its reason takes.
        fine = ("pass", "skipped")
    alike: dict[str, list[Judged]] = {}
    for one in sorted(found, key=badness, reverse=True):
        if one.verdict.verdict not in fine:
            alike.setdefault(anonymous(one), []).append(one)
    for same in list(alike.values())[: depth.reasons]:
        first = same[0].verdict
        what = "" if first.what == first.test else f"{first.what}: "
        more = f" The same on {len(same) - 1} more." if len(same) > 1 else ""
        ends = [end.end() for end in re.finditer(r"[.!?](?= |$)", first.reason)]
        cut = ends[depth.sentences - 1] if len(ends) > depth.sentences else None
        yield f"{what}{first.reason[:cut]}{more}"
    left = len(alike) - depth.reasons
    if depth.reasons and left > 0:
        yield f"And {left} more: d shows those of a device."


def _readings(judged: Sequence[Judged], width: int) -> Iterator[Line]:
    """Each reading: its verdict, what it is, its figure, and what there is to say."""
    for one in judged:
        found, row = one.verdict, Row((one,))
        what = "" if found.what == found.test else f", {found.what}"
        mark = Span(f"{MARKS[found.verdict]} {WORDS[found.verdict]} ", found.verdict)
        yield from fold((mark, Span(f"{found.test}{what}")), width, "", "  ")
        share = f" ({row.share})" if row.share else ""
        reason = found.reason if found.verdict != "pass" or not row.figure else ""
        said = one.reading.said if one.reading.said not in reason else ""
        disturbed = one.reading.disturbed if not reason else ""
        for text in (f"{row.figure}{share}".strip(), reason, said, disturbed):
            yield from fold((Span(text),), width, "    ")
        source = _source(one) or ("nothing to compare with" if row.figure else "")
        yield from fold((Span(source, "muted"),), width, "    ")
        for line in found.detail.splitlines():
            yield from fold((Span(line, "muted"),), width, "    | ")


def _source(one: Judged) -> str:
    """Where the expectation comes from; empty where there is none."""
    return "" if one.verdict.expected is None else one.verdict.source
