"""The health check as text, laid out for a width."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from textual.content import Content

from jaxtui import format as fmt
from jaxtui.document import INCOMPLETE
from jaxtui.format import plural
from jaxtui.health.rows import Judged, Row, anonymous, placed, who
from jaxtui.model import CHECK_TESTS, CheckTest, Device
from jaxtui.tui.check_report import (
    Report,
    badness,
    word_of,
    worry,
    worst,
    worst_first,
)
from jaxtui.tui.check_words import FINE, MARKS, WORDS, meaning, style, test_cell

_GOING = "▶"
_NAME = max(map(len, CHECK_TESTS)) + 2
_WORD = len("impossible") + 2
_INDENT = 2 + _NAME + _WORD
"""Where the figures begin."""

_ROOMY = 90
"""From so many cells on, what belongs to a test begins where its figures do."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How much is told of a test; the details of a device tell all of it."""

    reasons: int
    """How many readings that did not pass are explained."""
    sentences: int
    """Of each reason."""
    sources: bool
    """Whether to say where expectations come from."""


BRIEF, LONG, WHOLE = Depth(1, 2, False), Depth(3, 2, True), Depth(1000, 1000, True)
_ROWS = Depth(0, 0, False)
"""While a check goes on: every test in one line, so that all nine are in view."""


def verdict(report: Report, width: int) -> Content:
    """What the check comes to, and what to do about it."""
    check = report.check
    if check.going:
        return _joined(_wrapped(_going(report), width))
    return _joined([*_wrapped(_ended(report), width), _keys(report, width)])


def tests(report: Report, width: int, depth: Depth) -> Content:
    """The nine tests, then what was read of the machine as a whole.

    They come in the order in which they are run, and once the check has ended with
    those first that did not pass.

    Args:
        report: the check.
        width: cells of a line.
        depth: how much there is room for.
    """
    lines: list[Content] = []
    going = report.check.going
    for test in CHECK_TESTS if going else worst_first(report):
        lines += _test(report, test, width, _ROWS if going else depth)
    machine = report.of_device(None)
    if machine:
        lines += [Content(""), Content.styled("This machine as a whole", "bold")]
        lines += _readings(machine, width)
    return _joined(lines)


def device(report: Report, name: str, width: int) -> Content:
    """The selected device in one line: what is not as it should be, or that it is."""
    if name not in report.names:
        return Content.styled(f"{name} is not tested: another process has it.", "dim")
    word = word_of(report.of_device(name))
    if word is None:
        return Content.styled(f"{name}: nothing was read yet.", "dim")
    bad = [
        f"{test} {test_cell(report, name, test).text}"
        for test in CHECK_TESTS
        if word_of(report.at(name, test)) not in FINE
    ]
    where, found = placed(name, report.devices), WORDS[word]
    rest = f": {', '.join(bad)}" if bad else ""
    hint = "d shows its figures"
    room = max(0, width - len(where) - 1 - len(found) - len(hint) - 2)
    if len(rest) > room:
        rest = rest[: max(0, room - 1)] + "…"
    gap = " " * (room - len(rest) + 2)
    return Content.assemble(
        (where, "bold"), " ", (found, style(word)), rest, gap, (hint, "dim")
    )


def details(report: Report, name: str, width: int) -> Content:
    """All that was read of a device, what is wrong before the rest; empty at first."""
    found = sorted(report.of_device(name), key=worry, reverse=True)
    if not found:
        return Content("")
    head = Content.styled(f"{placed(name, report.devices)} in the check", "bold")
    return _joined([head, *_readings(found, width)])


def whole(report: Report, width: int) -> str:
    """The check to take away: verdict, tests, and every device that is in trouble."""
    parts = [
        _joined(_wrapped(_ended(report), width)),
        tests(report, width, WHOLE),
    ]
    parts += [
        details(report, one.name, width)
        for one in report.devices
        if word_of(report.of_device(one.name)) not in FINE
    ]
    text = Content("\n\n").join(parts).plain
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _going(report: Report) -> Content:
    check = report.check
    head = "STOPPING" if check.stopping else "CHECKING"
    count = plural(len(report.devices), "device")
    said = f" {count}, {check.level}: test {check.place} of {len(CHECK_TESTS)}"
    if not report.judged:
        return Content.assemble((head, "bold"), said)
    so_far = (WORDS[report.word], style(report.word))
    return Content.assemble((head, "bold"), f"{said}. So far: ", so_far)


def _ended(report: Report) -> Content:
    check, word = report.check, report.word
    if check.exam is None or check.exam.outcome in (None, "complete"):
        shown = (f" {WORDS[word].upper()} ", f"bold {style(word)} reverse")
        return Content.assemble(shown, f" {meaning(report)}")
    if check.exam.outcome == "incomplete":
        head, said = " INCOMPLETE ", f" {INCOMPLETE.partition(': ')[2]}"
    else:
        read = sum(bool(report.of_test(test)) for test in CHECK_TESTS)
        head, said = " STOPPED ", f" {read} of {len(CHECK_TESTS)} tests have readings."
    return Content.assemble(
        (head, "bold reverse"),
        f"{said} So far: ",
        (WORDS[word], style(word)),
        "." if word in FINE else f". {meaning(report)}",
    )


def _keys(report: Report, width: int) -> Content:
    """What was checked, and what can be done next, as far as there is room."""
    check = report.check
    facts = [check.level, plural(len(report.devices), "device")]
    if check.elapsed_seconds:
        facts.append(fmt.duration(check.elapsed_seconds))
    keys = ["c again", "C full", "Esc hides", "y copies", "PgDn more"]
    text = ", ".join(facts)
    for key in keys:
        if len(text) + 3 + len(key) <= width:
            text += f" · {key}"
    return Content.styled(text, "dim")


def _test(
    report: Report, test: CheckTest, width: int, depth: Depth
) -> Iterator[Content]:
    """A test in a line, and beneath it what is not as it should be."""
    stage, found = report.stage(test), report.of_test(test)
    word, row = word_of(found), worst(found)
    if stage == "going":
        doing = report.check.exam.what if report.check.exam else ""
        text = Content(doing or "starting")
        yield from _line(_GOING, test, "running", text, width, "bold")
    elif row is None or word is None:
        said = "waiting" if stage == "waiting" else "not run"
        yield from _line(" ", test, said, Content(""), width, "dim")
    else:
        text = _figures(row, report.devices, width - _INDENT)
        yield from _line(MARKS[word], test, WORDS[word], text, width, style(word))
    indent = " " * (_INDENT if width >= _ROOMY else 4)
    for reason in _reasons(found, depth):
        yield from _wrapped(Content(reason), width, indent)
    if depth.sources and row is not None and row.verdict in FINE:
        source = _source(row.members[0])
        yield from _wrapped(Content.styled(source, "dim"), width, indent)


def _line(
    mark: str, test: str, word: str, text: Content, width: int, how: str
) -> Iterator[Content]:
    name = "dim" if how == "dim" else ""
    head = Content.assemble(
        (f"{mark} ", how), (test.ljust(_NAME), name), (word.ljust(_WORD), how)
    )
    lines = list(text.wrap(max(1, width - _INDENT))) if text.plain else [Content("")]
    for place, line in enumerate(lines):
        yield Content.assemble(" " * _INDENT if place else head, line)


def _figures(row: Row, devices: Sequence[Device], room: int) -> Content:
    """Figure, of which devices, and what was measured, as far as there is room."""
    everybody = len(row.names) in (0, len(devices))
    share = f" ({row.share})" if row.share else ""
    parts = [f"{row.figure}{share}", "" if everybody else who(row.names, devices)]
    text = ", ".join(part for part in parts if part)
    # What did not pass is explained beneath, beginning with what was measured.
    told = row.what in CHECK_TESTS or row.verdict not in FINE
    if told or (text and len(text) + 2 + len(row.what) > room):
        return Content(text)
    return Content.assemble(text, "  " if text else "", (row.what, "dim"))


def _reasons(found: Sequence[Judged], depth: Depth) -> Iterator[str]:
    """Why readings did not pass, the worst first: each reason once."""
    alike: dict[str, list[Judged]] = {}
    # A part that was left out matters less than the room that its reason takes.
    fine = (
        ("pass", "skipped")
        if depth == BRIEF and word_of(found) != "skipped"
        else ("pass",)
    )
    for one in sorted(found, key=badness, reverse=True):
        if one.verdict.verdict not in fine:
            said = anonymous(one.verdict.reason, one.verdict.device)
            alike.setdefault(said, []).append(one)
    for same in list(alike.values())[: depth.reasons]:
        first = same[0].verdict
        what = "" if first.what == first.test else f"{first.what}: "
        more = f" The same on {len(same) - 1} more." if len(same) > 1 else ""
        yield f"{what}{_begin(first.reason, depth.sentences)}{more}"
    left = len(alike) - depth.reasons
    if depth.reasons and left > 0:
        yield f"And {left} more: d shows those of a device."


def _begin(text: str, sentences: int) -> str:
    """The first sentences of a text."""
    ends = [end.end() for end in re.finditer(r"[.!?](?= |$)", text)]
    return text if len(ends) <= sentences else text[: ends[sentences - 1]]


def _readings(judged: Sequence[Judged], width: int) -> Iterator[Content]:
    """Each reading: its verdict, what it is, its figure, and what is to be said."""
    for one in judged:
        found, row = one.verdict, Row((one,))
        what = "" if found.what == found.test else f", {found.what}"
        head = Content.assemble(
            (f"{MARKS[found.verdict]} {WORDS[found.verdict]} ", style(found.verdict)),
            f"{found.test}{what}",
        )
        share = f" ({row.share})" if row.share else ""
        reason = found.reason if found.verdict != "pass" or not row.figure else ""
        said = one.reading.said if one.reading.said not in reason else ""
        yield from _wrapped(head, width, "", "  ")
        disturbed = one.reading.disturbed if not reason else ""
        for text in (f"{row.figure}{share}".strip(), reason, said, disturbed):
            yield from _wrapped(Content(text), width, "    ")
        source = _source(one) or ("nothing to compare with" if row.figure else "")
        yield from _wrapped(Content.styled(source, "dim"), width, "    ")
        yield from _wrapped(Content.styled(found.detail, "dim"), width, "    | ")


def _source(one: Judged) -> str:
    """Where the expectation comes from; empty where there is none."""
    return "" if one.verdict.expected is None else one.verdict.source


def _wrapped(
    text: Content, width: int, indent: str = "", later: str | None = None
) -> Iterator[Content]:
    if not text.plain:
        return
    later = indent if later is None else later
    room = max(1, width - max(len(indent), len(later)))
    for place, line in enumerate(text.wrap(room)):
        yield Content.assemble(later if place else indent, line)


def _joined(lines: Iterable[Content]) -> Content:
    return Content("\n").join(lines)
