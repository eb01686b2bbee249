"""The report of a health check: its verdict, the figures, and what qualifies them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from jaxtui import format as fmt
from jaxtui.analysis.baseline import Baseline
from jaxtui.analysis.check import SEVERITY, Verdict, VerdictWord, judge, overall
from jaxtui.analysis.examination import Examination
from jaxtui.model import CHECK_TESTS, CheckTest, Device, Host, Reading, Remark, Unit
from jaxtui.model.machine import group_name, hostnames
from jaxtui.model.measurement import is_vague
from jaxtui.ui.report import Report, Rows, Statement, gather
from jaxtui.view import words
from jaxtui.view.chipmap import Mark
from jaxtui.view.document import machine
from jaxtui.view.text import Column, Line, Span, meter, plain

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
"""The roles of verdicts in drawings and tables; themes have a colour for each."""

FINE: tuple[VerdictWord | None, ...] = (None, "pass", "skipped")
"""The verdicts that need no attention."""

ROWS_APART = 3
"""The devices with the same trouble that get a row each; more share one."""

MOST_CULPRITS = 4
"""The devices named in a sentence; the rows name all."""

GRID_DEVICES = 16
"""The devices that have a line each in a text."""

WIDEST_NAMES = 18

LEAST_NAME = 20
"""Cells that the name of a figure keeps while other columns can go."""

WAITING = Span("…", "muted")
"""Stands where a verdict is being worked out."""

CHECK_DOING: dict[CheckTest, str] = {
    "present": "counting chips",
    "memory": "reading memory statistics",
    "dispatch": "timing calls",
    "transfer": "copying between host and device",
    "collectives": "exchanging between all devices",
    "numerics": "comparing results with float64",
    "bandwidth": "streaming large arrays",
    "compute": "multiplying matrices",
}
"""What each test does; those come first whose cell says least where all is well."""

_LEAST_SAID = (*CHECK_DOING,)

_QUANTITIES: dict[Unit, fmt.Quantity] = {
    "bytes": "memory",
    "flop/s": "FLOP/s",
    "bytes/s": "B/s",
    "seconds": "s",
}


# Rows.


class Row(msgspec.Struct, frozen=True):
    """A row for one or more devices with the same verdict."""

    members: tuple[Verdict, ...]
    """The verdicts, at least one; same test, same thing measured, same verdict."""

    @property
    def first(self) -> Verdict:
        return self.members[0]

    @property
    def word(self) -> VerdictWord:
        return self.first.word

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the devices; none for a reading of the machine as a whole."""
        return tuple(
            verdict.reading.device for verdict in self.members if verdict.reading.device
        )

    @property
    def measured(self) -> str:
        """``171 TFLOP/s``, or of several devices ``168–171 TFLOP/s``."""
        unit = self.first.reading.unit
        values = [
            verdict.reading.measured
            for verdict in self.members
            if verdict.reading.measured is not None
        ]
        if not values:
            return ""
        low, high = min(values), max(values)
        if figure(low, unit) == figure(high, unit):
            return figure(high, unit)
        cell = fmt.figure(high, _QUANTITIES[unit]) if unit in _QUANTITIES else ""
        if isinstance(cell, fmt.Figure):
            return str(fmt.Figure((low, high), cell.quantity, cell.unit))
        return f"{figure(low, unit)}–{figure(high, unit)}"

    @property
    def expected(self) -> str:
        """``197 TFLOP/s``, ``≤ 1.0e-2``; a dash where nothing is expected of all."""
        values = {verdict.expected for verdict in self.members}
        if len(values) > 1 or None in values:
            return "" if not self.measured or len(values) > 1 else fmt.ABSENT
        text = figure(values.pop(), self.first.reading.unit)
        kind = self.first.reading.expected
        return f"≤ {text}" if kind is not None and kind.kind == "most" else text

    @property
    def share(self) -> str:
        """The reached share of the expectation; empty where there is none."""
        shares = self.shares
        if not shares:
            return ""
        low, high = min(shares), max(shares)
        if self.first.reading.unit == "seconds":
            return "–".join(dict.fromkeys((fmt.ratio(low), fmt.ratio(high))))
        ends = dict.fromkeys((fmt.percents(low), fmt.percents(high)))
        return f"{'–'.join(ends)} %"

    @property
    def shares(self) -> list[float]:
        return [verdict.share for verdict in self.members if verdict.share is not None]


def rows(verdicts: Iterable[Verdict]) -> tuple[Row, ...]:
    """The readings of one test: those that agree together, those in trouble apart.

    Rows of the same thing follow each other, the best first.
    """
    alike: dict[tuple[object, ...], list[Verdict]] = {}
    for verdict in verdicts:
        codes = (
            ()
            if verdict.word == "pass"
            else tuple(remark.code for remark in verdict.remarks)
        )
        alike.setdefault((verdict.reading.what, verdict.word, codes), []).append(
            verdict
        )
    table: list[Row] = []
    for (_, word, _), members in alike.items():
        together = word in ("pass", "skipped") or len(members) > ROWS_APART
        table += map(Row, [tuple(members)] if together else zip(members, strict=True))
    whats = [what for what, _, _ in alike]
    table.sort(
        key=lambda row: (whats.index(row.first.reading.what), SEVERITY.index(row.word))
    )
    return tuple(table)


def figure(value: float | None, unit: Unit) -> str:
    """A figure as people read it: ``169 TFLOP/s``, ``4 chips``, ``2.1e-3``."""
    if value is None:
        return fmt.ABSENT
    if unit == "chips":
        return f"{value:g} {'chip' if value == 1 else 'chips'}"
    if unit == "relative error":
        return fmt.error(value)
    return str(fmt.figure(value, _QUANTITIES[unit])) if unit else f"{value:g}"


# Devices.


def _short_names(names: Sequence[str], devices: Sequence[Device]) -> str:
    """Devices in short: ``tpu:3 at 1,1,0``, ``tpu:0-7``, ``12 devices``."""
    if not names:
        return "machine"
    if len(names) == 1:
        return next(
            (device.label for device in devices if device.name == names[0]), names[0]
        )
    platforms = {name.partition(":")[0] for name in names}
    short = f"{len(names)} devices"
    if len(platforms) > 1:
        return short
    text = group_name(names)
    return text if len(text) <= WIDEST_NAMES else short


# The check as a whole.


class Judgement(msgspec.Struct, frozen=True):
    """A check with its verdicts, sorted by device and test."""

    exam: Examination | None = None
    verdicts: tuple[Verdict, ...] = ()
    """Test by test, in the order in which they were read."""
    stopping: bool = False
    """The user has asked for its end."""
    elapsed_seconds: float = 0.0
    _by_device: Mapping[str | None, Sequence[Verdict]] = msgspec.field(
        default_factory=dict
    )

    @property
    def devices(self) -> tuple[Device, ...]:
        return () if self.exam is None else self.exam.devices

    @property
    def tests(self) -> tuple[CheckTest, ...]:
        """The tests of its level."""
        return CHECK_TESTS if self.exam is None else self.exam.tests

    @property
    def running(self) -> bool:
        return self.exam is not None and self.exam.outcome is None

    @property
    def test(self) -> CheckTest | None:
        """The test that is running or comes next."""
        check = self.exam and (self.exam.check or self.exam.next_check)
        return check.test if check else None

    @property
    def word(self) -> VerdictWord:
        return overall(self.verdicts)

    def of_test(self, test: CheckTest) -> tuple[Verdict, ...]:
        return tuple(
            verdict for verdict in self.verdicts if verdict.reading.test == test
        )

    def of_device(self, device: str | None) -> Sequence[Verdict]:
        """All that was read of one device, or of the machine as a whole."""
        return self._by_device.get(device, ())

    def at(self, device: str | None, test: CheckTest) -> list[Verdict]:
        """Return a test's verdicts on a device, or on the machine as a whole."""
        return [
            verdict
            for verdict in self.of_device(device)
            if verdict.reading.test == test
        ]

    def word_of(self, device: str) -> VerdictWord | None:
        """The worst verdict of a device; ``None`` before there is any."""
        verdicts = self.of_device(device)
        return overall(verdicts) if verdicts else None

    def is_done(self, test: CheckTest) -> bool:
        """Return whether a test has run, and was not broken off by the user."""
        order, current = CHECK_TESTS.index, self.test
        waits = self.running and (current is None or order(test) > order(current))
        return test != current and not waits and bool(self.of_test(test))


NO_JUDGEMENT = Judgement()


def judged(
    exam: Examination | None,
    *,
    last: Judgement = NO_JUDGEMENT,
    baseline: Baseline | None = None,
    stopping: bool = False,
    elapsed_seconds: float = 0.0,
) -> Judgement:
    """A check with its verdicts.

    Readings that were judged before are not judged again.
    """
    if exam is None:
        return NO_JUDGEMENT
    if last.exam is not None and exam.readings is last.exam.readings:
        return replace(
            last, exam=exam, stopping=stopping, elapsed_seconds=elapsed_seconds
        )
    judgements = judge(exam.readings, exam.devices, baseline)
    verdicts = sorted(
        judgements, key=lambda verdict: CHECK_TESTS.index(verdict.reading.test)
    )
    by_device: dict[str | None, list[Verdict]] = {}
    for verdict in verdicts:
        by_device.setdefault(verdict.reading.device, []).append(verdict)
    return Judgement(exam, tuple(verdicts), stopping, elapsed_seconds, by_device)


# The report.


def build(
    check: Judgement, host: Host | None = None, of_machine: Iterable[Remark] = ()
) -> Report:
    """Return the report of a check so far.

    Args:
        check: with its verdicts.
        host: the machine.
        of_machine: what else is to be known of it.
    """
    tables = [_figures(check, check.verdicts)]
    if 1 < len(check.devices) <= GRID_DEVICES:
        tables.insert(0, Rows(grid(check, check.devices)))
    kinds = dict.fromkeys(
        "SIMULATED devices" if device.simulated else device.device_kind
        for device in check.devices
        if device.simulated or device.platform != "cpu"
    )
    facts = machine(host, "hostname", "cpu", "jax", "libtpu", by=" · ")
    return Report(
        title=_title(check),
        verdict=_headline(check),
        tables=tuple(tables),
        notes=_statements(check, check.verdicts, of_machine),
        host=" · ".join(filter(None, (facts, *kinds))),
    )


def of_device(check: Judgement, name: str) -> Report:
    """Return the report on one device, and on the machine as a whole."""
    verdicts = (*check.of_device(name), *check.of_device(None))
    device = _short_names([name], check.devices)
    return Report(
        title=f"{device} in the check",
        tables=(_figures(check, verdicts, of_one=True),) if verdicts else (),
        notes=_statements(check, verdicts),
    )


def _title(check: Judgement) -> str:
    if check.exam is None:
        return "check"
    parts = ["check", check.exam.level, fmt.plural(len(check.devices), "device")]
    if check.elapsed_seconds:
        parts.append(fmt.duration(check.elapsed_seconds))
    return " · ".join(parts)


def _headline(check: Judgement) -> Line:
    """The verdict, who is to blame, and what to do next."""
    exam, word = check.exam, check.word
    if exam is None:
        return ()
    if check.running:
        head = Span("STOPPING " if check.stopping else "CHECKING ", "title")
        bar = meter(progress(check), 2 * len(check.tests))
        line = (head, *bar, Span(f" {doing(check)}"))
        so_far = Span(" so far: ", "muted"), Span(LOOKS[word].word, word)
        return (*line, *so_far) if check.verdicts else line
    advice = f" {_advice(check)}".rstrip()
    if exam.outcome == "complete":
        badge = Span(f" {LOOKS[word].word.upper()} ", f"badge-{word}")
        return badge, Span(advice)
    tests_read = sum(bool(check.of_test(test)) for test in check.tests)
    every = len(check.tests)
    stopped = f"{tests_read} of {every} tests have readings."
    title, text = " STOPPED ", f" {stopped}"
    if exam.outcome == "incomplete":
        sentence = words.sentence(Remark("incomplete", {"during": "check"}))
        title, text = " INCOMPLETE ", f" {sentence}"
    ending = "." if word in FINE else f".{advice}"
    so_far = Span(" So far: ", "muted"), Span(LOOKS[word].word, word)
    return Span(title, "badge"), Span(text), *so_far, Span(ending)


def progress(check: Judgement) -> float:
    """The share of the tests that are done."""
    place = 0 if check.test is None else check.tests.index(check.test)
    return place / len(check.tests)


def doing(check: Judgement) -> str:
    """``bandwidth 4 of 8, streaming large arrays on 8 devices``."""
    test, exam = check.test, check.exam
    if test is None or exam is None:
        return ""
    number = f"{test} {check.tests.index(test) + 1} of {len(check.tests)}"
    return f"{number}, {work_of(exam)}"


def work_of(exam: Examination) -> str:
    """Describe the running test: ``streaming large arrays on 8 devices``."""
    if exam.check is None or exam.doing is None:
        return "starting"
    text = "compiling" if exam.doing == "compiling" else CHECK_DOING[exam.check.test]
    return f"{text} on {fmt.some(exam.at_work)}" if exam.at_work else text


def _advice(check: Judgement) -> str:
    word, verdicts = check.word, check.verdicts
    passed = {verdict.reading.test for verdict in verdicts if verdict.word == "pass"}
    compared = {v.reading.test for v in verdicts if v.expected is not None}
    guilty = [verdict for verdict in verdicts if verdict.word == word]
    low = [verdict for verdict in verdicts if verdict.word == "low" != word]
    names = dict.fromkeys(verdict.reading.device for verdict in guilty)
    most = None in names or len(names) > min(MOST_CULPRITS, len(check.devices) // 2)
    culprits, others = (_culprits(these, check.devices) for these in (guilty, low))
    only = "" if most or not names else f" --device {','.join(map(str, names))}"
    full = f"`jaxtui check --level full{only}`"
    more = f" Low: {others}." if low else ""
    match word:
        case "skipped":
            return "No test could run."
        case "pass":
            return f"{len(passed)} ran, {len(compared)} compared."
        case "low":
            return f"{culprits}. See who else uses the machine, then run {full}."
        case "impossible":
            return (
                f"{culprits}: faster than the hardware's peak. Don't trust any timing"
                f" on this machine until {full} passes.{more}"
            )
        case _:
            return (
                f"{culprits}. Don't rely on it: restart the machine and check again. If"
                " the fault stays, send the output of `jaxtui check --json` to whoever"
                f" provides the machine.{more}"
            )


def _culprits(verdicts: Sequence[Verdict], devices: Sequence[Device]) -> str:
    """``tpu:3 at 1,1,0 in compute and together; this machine in present``."""
    tests: dict[str | None, list[str]] = {}
    for verdict in verdicts:
        tests.setdefault(verdict.reading.device, []).append(verdict.reading.test)
    alike: dict[str, list[str]] = {}
    for name, failed in tests.items():
        alike.setdefault(fmt.listed(failed), []).extend([name] if name else [])
    texts = [
        f"{_short_names(names, devices) if names else 'this machine'} in {failed}"
        for failed, names in alike.items()
    ]
    if len(texts) > MOST_CULPRITS:
        texts[MOST_CULPRITS:] = [f"{len(texts) - MOST_CULPRITS} more"]
    return "; ".join(texts)


def _figures(
    check: Judgement, verdicts: Sequence[Verdict], *, of_one: bool = False
) -> Rows:
    """A row for each figure, test by test; what was skipped is a remark."""
    listed = [
        row
        for test in CHECK_TESTS
        for row in rows(verdict for verdict in verdicts if verdict.reading.test == test)
        if row.word != "skipped"
    ]
    names = [_who(row, len(check.devices)) for row in listed]
    whats = [row.first.reading.what for row in listed]
    widest = max(map(len, whats), default=0)
    one_device = of_one or (len({*names} - {"machine"}) < 2 and len(check.devices) < 2)
    looks = [LOOKS[row.word] for row in listed]

    def column(
        key: str, head: str, texts: Iterable[str], role: str = "label", **facts: object
    ) -> Column:
        cells = tuple((Span(text, role),) for text in texts)
        return Column(key, head, cells, **facts)  # type: ignore[arg-type]

    measured = tuple(
        (Span(row.measured, _figure_role(row.first.reading)),) for row in listed
    )
    columns = (
        Column(
            "word",
            "",
            tuple(
                (Span(look.text, row.word),)
                for look, row in zip(looks, listed, strict=True)
            ),
        ),
        column("test", "test", _once(row.first.reading.test for row in listed)),
        column(
            "what",
            "figure",
            whats,
            "muted",
            least=min(widest, LEAST_NAME),
            grows=True,
            most=widest,
        ),
        *([] if one_device else [column("device", "device", names)]),
        Column("measured", "measured", measured, right=True),
        column(
            "expected", "expected", (row.expected for row in listed), right=True, rank=1
        ),
        column("share", "share", (row.share for row in listed), right=True, rank=2),
    )
    # A column without any text says nothing.
    return Rows(tuple(column for column in columns if any(map(plain, column.cells))))


def _who(row: Row, devices: int) -> str:
    """The devices of a row: ``tpu:3``, ``tpu:0, 2``, ``all``, ``7 devices``."""
    if len(row.names) == devices > 1:
        return "all"
    if len(row.names) > ROWS_APART:
        return f"{len(row.names)} devices"
    return row.names[0] if len(row.names) == 1 else _short_names(row.names, ())


def _once(names: Iterable[str]) -> Iterator[str]:
    """Each name where it is another one than above."""
    last = ""
    for name in names:
        yield "" if name == last else name
        last = name


def _figure_role(reading: Reading) -> str:
    """Return the role of a figure: one from rounds that is not known to within a third
    is not bold.
    """
    low, high, sure = reading.ci_low, reading.ci_high, reading.confidence
    if low is None or high is None or sure is None:
        return "title"
    return "unknown" if is_vague(low, high, sure) else "title"


def _statements(
    check: Judgement, verdicts: Sequence[Verdict], of_machine: Iterable[Remark] = ()
) -> tuple[Statement, ...]:
    """Each remark once, with the tests and devices that it is about; where what was
    expected comes from, with the figures.
    """
    about: dict[tuple[CheckTest, str], dict[Remark, None]] = {}
    several = len(check.devices) > 1
    for test in CHECK_TESTS:
        for row in rows(
            verdict for verdict in verdicts if verdict.reading.test == test
        ):
            names_rows = several and row.names and len(row.names) < len(check.devices)
            of = f" of {_short_names(row.names, ())}" if names_rows else ""
            for verdict in row.members:
                remarks = dict.fromkeys(verdict.remarks)
                about.setdefault((test, of), {}).update(remarks)
    sources: dict[str, dict[Remark, None]] = {}
    for verdict in verdicts:
        if (source := verdict.source) is not None:
            remark = Remark("expected", {"rule": source.code, **source.facts})
            sources.setdefault(verdict.reading.what, {})[remark] = None
        elif _is_unrated(verdict):
            kinds = fmt.listed(device.device_kind for device in check.devices)
            remark = Remark("no-expectation", {"kinds": kinds})
            about.setdefault((verdict.reading.test, ""), {})[remark] = None
    ordered = sorted(about.items(), key=lambda item: CHECK_TESTS.index(item[0][0]))
    labelled = ((f"{test}{of}", remarks) for (test, of), remarks in ordered)
    return (*gather(labelled, of_machine), *gather(sources.items()))


def _is_unrated(verdict: Verdict) -> bool:
    """Return whether a speed has no expectation: chips are counted, and memory is as it
    is.
    """
    timed = verdict.reading.unit in ("flop/s", "bytes/s", "seconds")
    return timed and verdict.reading.measured is not None and verdict.expected is None


# Verdicts by device.


def marks(check: Judgement, devices: Sequence[Device]) -> dict[str, Mark]:
    """Return the mark of each device on a chip map, in the order of its legend."""
    drawn: dict[str, Mark] = {}
    words = {device.name: check.word_of(device.name) for device in devices}
    for word in (*SEVERITY, None):
        drawn.update({name: LOOKS[word] for name in words if words[name] == word})
    return drawn


def badges(check: Judgement, devices: Sequence[Device]) -> Column:
    """The worst verdict of each device, as a column of their table."""
    cells: list[Line] = []
    for device in devices:
        if word := check.word_of(device.name):
            look = LOOKS[word]
            cells.append((Span(f"{look.text} {look.word}", look.role),))
        else:
            at_work = check.exam is not None and device.name in check.exam.at_work
            cells.append((WAITING if at_work else Span("", "muted"),))
    return Column("check", "check", cells, rank=1)


def grid(check: Judgement, devices: Sequence[Device]) -> tuple[Column, ...]:
    """A column for each test, after the names.

    Where there is no room for all, those that say least go first, and those in which
    something is wrong last.
    """
    names = Column("id", "id", tuple((Span(device.name),) for device in devices))
    columns = [names]
    if hosts := hostnames(devices):
        cells = tuple((Span(name),) for name in hosts)
        columns.append(Column("host", "host", cells, rank=len(CHECK_TESTS) + 2))
    for test in check.tests:
        spans = [_cell(check, device.name, test) for device in devices]
        room = max(len(test), *(len(span.text) for span in spans))
        cells = tuple((Span(span.text.center(room), span.role),) for span in spans)
        wrong = overall(check.of_test(test)) not in FINE
        rank = 1 if wrong else len(CHECK_TESTS) + 1 - _LEAST_SAID.index(test)
        columns.append(Column(test, test.center(room), cells, rank=rank))
    return tuple(columns)


def _cell(check: Judgement, device: str, test: CheckTest) -> Span:
    """The verdict of a device in one test in four cells; a figure alone has passed."""
    exam, row = check.exam, _worst_row(check.at(device, test))
    if row is None:
        if exam is not None and check.test == test and device in exam.at_work:
            return WAITING
        word = overall(check.at(None, test))
        # What is wrong with the machine as a whole is not this device's fault.
        if not (check.at(None, test) and word in FINE and check.is_done(test)):
            return Span(LOOKS[None].text, "muted")
        return Span(LOOKS[word].text, LOOKS[word].role)
    mark, share = LOOKS[row.word].text, ""
    if row.shares and row.word in ("pass", "low"):
        share = row.share.replace(" ", "")
        mark = mark if row.word == "low" else ""
    role = LOOKS[row.word].role + ("" if row.word in FINE else "-selected")
    return Span(mark + share, role)


def _worst_row(verdicts: Sequence[Verdict]) -> Row | None:
    """The row of a test that tells most: the worst verdict, then the lowest share."""

    def badness(row: Row) -> tuple[int, float]:
        return SEVERITY.index(row.word), -min(row.shares, default=math.inf)

    return max(rows(verdicts), key=badness, default=None)
