"""The health check on a screen: a badge, a grid of device × test, and what is wrong.

The roles of its spans are verdicts, ``muted`` and ``title``; that of a badge is
``badge``, or its verdict after ``badge-``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui import format as fmt
from jaxtui.analysis.check import SEVERITY, Verdict, figure, overall
from jaxtui.model import CHECK_TESTS, CheckTest, Device, Reading
from jaxtui.model.measurement import is_vague
from jaxtui.view.check import (
    FINE,
    LOOKS,
    Report,
    Row,
    label,
    meaning,
    rank,
    short_names,
    sources,
    worst_row,
)
from jaxtui.view.text import LOST, Column, Line, Span, cut, fold, meter, plain

WAITING = Span("…", "muted")
"""Stands where a verdict is being worked out."""

_NAME = max(map(len, CHECK_TESTS)) + 1

_LEAST_SAID: tuple[CheckTest, ...] = (
    *("present", "memory", "dispatch", "transfer"),
    *("together", "numerics", "bandwidth", "compute"),
)
"""The tests, those first whose cell says least where all is well."""


def heading(report: Report) -> str:
    if report.exam is None:
        return "check"
    parts = ["check", report.exam.level, fmt.plural(len(report.devices), "device")]
    if report.elapsed_seconds:
        parts.append(fmt.duration(report.elapsed_seconds))
    return " · ".join(parts)


def summary(report: Report, width: int) -> list[Line]:
    """What the check comes to so far, and what to do about it."""
    exam, word = report.exam, report.word
    if exam is None:
        return []
    so_far = (Span(" so far: ", "muted"), Span(LOOKS[word].word, word))
    total = len(CHECK_TESTS)
    if report.running:
        place = 0 if report.test is None else CHECK_TESTS.index(report.test)
        head = Span("STOPPING " if report.stopping else "CHECKING ", "title")
        done = meter(place / total, 2 * total)
        text = (head, *done, Span(f" {report.test} {place + 1} of {total}"))
        found = [(*text, *so_far) if report.verdicts else text]
        doing = exam.what or "starting"
        return [*found, *fold((Span(doing, "muted"),), width)]
    advice = meaning(word, report.verdicts, report.devices)
    if exam.outcome == "complete":
        badge = Span(f" {LOOKS[word].word.upper()} ", f"badge-{word}")
        return fold((badge, Span(f" {advice}")), width)
    read = sum(bool(report.of_test(test)) for test in CHECK_TESTS)
    title, said = " STOPPED ", f" {read} of {total} tests have readings"
    if exam.outcome == "incomplete":
        title, said = " INCOMPLETE ", f" {LOST}"
    rest = "." if word in FINE else f". {advice}"
    return fold((Span(title, "badge"), Span(f"{said};"), *so_far, Span(rest)), width)


def grid(report: Report, devices: Sequence[Device], width: int) -> tuple[Column, ...]:
    """A column for each test, after the names.

    Where there is no room for all, those with the least to say share the last one.
    Each column but the first takes a cell more for a gap.
    """
    names = Column("id", "id", tuple((Span(one.name),) for one in devices))
    words = {test: overall(report.of_test(test)) for test in CHECK_TESTS}
    # Before a check and in the middle of it the same ones as after a good one.
    spare = sorted(
        _LEAST_SAID,
        key=lambda test: words[test] not in FINE and SEVERITY.index(words[test]),
    )
    shown, others = [*CHECK_TESTS], list[CheckTest]()
    while True:
        columns = [
            _column(test, [_cell(report, one.name, test) for one in devices])
            for test in shown
        ]
        if others:
            spans = [_shared(report, one.name, others) for one in devices]
            columns.append(_column("others", spans))
        if not spare or names.width + sum(1 + one.width for one in columns) <= width:
            return names, *columns
        shown.remove(spare.pop(0))
        others = [test for test in CHECK_TESTS if test not in shown]


def _column(name: str, spans: Sequence[Span]) -> Column:
    """A column of centred cells."""
    room = max(len(name), *(len(span.text) for span in spans))
    cells = tuple((Span(span.text.center(room), span.role),) for span in spans)
    return Column(name, name.center(room), cells)


def _shared(report: Report, device: str, tests: Sequence[CheckTest]) -> Span:
    """The cell of several tests: what is wrong in one, or how many have passed."""
    cells = [_cell(report, device, test) for test in tests]
    for one in cells:
        if one is WAITING or one.role.endswith("-selected"):
            return one
    passed = LOOKS["pass"]
    count = sum(one.role == passed.role for one in cells)
    return Span(f"{count} {passed.text}", passed.role) if count else cells[-1]


def badges(report: Report, devices: Sequence[Device]) -> Column:
    """The worst verdict of each device, as a column of their table."""
    cells: list[Line] = []
    for one in devices:
        if word := report.word_of(one.name):
            look = LOOKS[word]
            cells.append((Span(f"{look.text} {look.word}", look.role),))
        else:
            at_work = report.exam is not None and one.name in report.exam.at_work
            cells.append((WAITING if at_work else Span("", "muted"),))
    return Column("check", "check", cells, rank=1)


def _cell(report: Report, device: str, test: CheckTest) -> Span:
    """The verdict of a device in one test in four cells; a figure alone has passed."""
    exam, row = report.exam, worst_row(report.at(device, test))
    if row is None:
        if exam is not None and report.test == test and device in exam.at_work:
            return WAITING
        word = overall(report.at(None, test))
        # What is wrong with the machine as a whole is not this device's fault.
        if not (report.at(None, test) and word in FINE and report.is_done(test)):
            return Span(LOOKS[None].text, "muted")
        return Span(LOOKS[word].text, LOOKS[word].role)
    mark, share = LOOKS[row.word].text, ""
    if row.shares and row.word in ("pass", "low"):
        share = fmt.percent(min(row.shares)).replace(" ", "")
        mark = mark if row.word == "low" else ""
    role = LOOKS[row.word].role + ("" if row.word in FINE else "-selected")
    return Span(mark + share, role)


def troubles(report: Report, width: int, room: int = 0) -> list[Line]:
    """A line for each test that did not pass, the worst first.

    Where all reasons fit into the room, they are told whole.
    """
    words = {test: overall(report.of_test(test)) for test in CHECK_TESTS}
    bad = [test for test in words if words[test] != "pass" and report.of_test(test)]
    bad.sort(key=lambda test: SEVERITY.index(words[test]), reverse=True)
    longest = max((len(LOOKS[words[test]].word) for test in bad), default=0) + 2
    rows = [_trouble(report, test, longest) for test in bad]
    indent = " " * (2 + _NAME + longest)
    whole: list[Line] = []
    for head, reason in rows:
        if not head[-1].text:
            whole += fold((*head, Span(reason, "muted")), width, "", indent)
        else:
            whole += fold(head, width, "", indent)
            whole += fold((Span(reason, "muted"),), width, indent)
        whole.append(())
    if len(whole) <= room + 1:
        return whole[:-1]
    return [
        cut((*head[:-1], Span(f"{head[-1].text}  {reason}".strip())), width)
        for head, reason in rows
    ]


def figures(report: Report, name: str, width: int) -> list[Line]:
    """A line for each figure of a device, without all that is said of it."""
    found = [row for one in report.of_device(name) if (row := Row((one,))).figure]
    most = max((len(row.figure) for row in found), default=0)
    room = width - _NAME - most - 3
    longest = max((len(row.what) for row in found), default=0)
    if longest > room:  # the test alone must do
        longest = 0
    return [
        (
            Span(row.members[0].reading.test.ljust(_NAME + 1)),
            Span(f"{row.what[:longest]:{longest}}  ", "muted"),
            Span(row.figure.rjust(most), _role(row.members[0].reading)),
        )
        for row in found
    ]


def _role(reading: Reading) -> str:
    """Of a figure: one of rounds that is not known to within a third is not bold."""
    low, high, sure = reading.ci_low, reading.ci_high, reading.confidence
    if low is None or high is None or sure is None:
        return "title"
    return "unknown" if is_vague(low, high, sure) else "title"


def _trouble(report: Report, test: CheckTest, longest: int) -> tuple[Line, str]:
    """What did not pass, on which device, by how much; and why."""
    verdicts = report.of_test(test)
    word, row = overall(verdicts), worst_row(verdicts)
    assert row is not None
    every_device = len(row.names) in (0, len(report.devices))
    where = "" if every_device else short_names(row.names, report.devices)
    alike = {one.reading.device for one in verdicts if one.word == word}
    more = len(alike - {*row.names, None})
    where += f" and {more} more" * bool(more and where)
    where += "  " * bool(where)
    share = f" ({row.share})" if row.share else ""
    reached = f"{row.figure}{share}" if row.figure else ""
    head = (
        Span(f"{LOOKS[word].text} ", word),
        Span(test.ljust(_NAME)),
        Span(LOOKS[word].word.ljust(longest), word),
        Span(f"{where}{reached}".rstrip()),
    )
    return head, _why(row.members[0])


def _why(one: Verdict) -> str:
    """The reason without the sentence that only repeats the figure."""
    first, *others = one.sentences
    reading = one.reading
    reached = figure(reading.measured, reading.unit)
    repeats = first.startswith(reached) and not reading.fault
    return " ".join(others if repeats else one.sentences)


def details(report: Report, name: str, width: int) -> list[Line]:
    """All that was read of a device, what is wrong before the rest; empty at first.

    What was read of the machine as a whole follows.
    """
    found = sorted(report.of_device(name), key=rank, reverse=True)
    machine = report.of_device(None)
    expected = (Span(source, "muted") for source in sources((*found, *machine)))
    parts = {
        f"{label(name, report.devices)} in the check": [*_readings(found, width)],
        "this machine as a whole": [*_readings(machine, width)],
        "what was expected": [
            line for source in expected for line in fold((source,), width, "", "  ")
        ],
    }
    lines: list[Line] = []
    for title, part in parts.items():
        lines += [(), (Span(title, "title"),), *part] if part else []
    return lines[1:]


def _readings(verdicts: Sequence[Verdict], width: int) -> Iterator[Line]:
    """Each reading: its verdict, what it is and its figure; then what there is to say.

    A figure that nothing can be compared with has a dash behind it.
    """
    for one in verdicts:
        reading, row = one.reading, Row((one,))
        what = "" if reading.what == reading.test else f", {reading.what}"
        word = "" if one.word == "pass" else f"{LOOKS[one.word].word} "
        named = (
            Span(f"{LOOKS[one.word].text} {word}", one.word),
            Span(f"{reading.test}{what}"),
        )
        beside = f" ({row.share})" if row.share else ""
        if row.figure and one.expected is None:
            beside = f" {fmt.ABSENT}"
        reached = Span(row.figure, _role(reading)), Span(beside, "muted")
        whole = (*named, Span("  " * bool(row.figure)), *reached)
        if len(plain(whole)) <= width:
            yield whole
        else:
            yield from fold(named, width, "", "  ")
            yield from fold(reached, width, "    ")
        reason = _why(one) if one.word != "pass" or not row.figure else ""
        said = reading.said if reading.said not in reason else ""
        disturbed = reading.disturbed if not reason else ""
        for text in (reason, said, disturbed):
            yield from fold((Span(text, "muted"),), width, "    ")
        for line in reading.detail.splitlines():
            yield from fold((Span(line, "muted"),), width, "    | ")
