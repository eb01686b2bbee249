"""The report of a health check: its verdict, the figures, and what qualifies them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import CHECK_TESTS, CheckTest, Device, Remark
from jaxtui.core.model.document import Note
from jaxtui.core.model.machine import group_name, hostnames
from jaxtui.core.model.measurement import is_vague, without_amount
from jaxtui.core.state import State
from jaxtui.features.check.baseline import differences
from jaxtui.features.check.exam import Examination
from jaxtui.features.check.judge import (
    EXIT_CODES,
    SEVERITY,
    Verdict,
    judge,
    overall,
)
from jaxtui.features.check.messages import Checked, Figure, VerdictWord
from jaxtui.ui import words
from jaxtui.ui.chipmap import Mark
from jaxtui.ui.documents import DeviceRow
from jaxtui.ui.outcome import Outcome
from jaxtui.ui.report import Column, Report, Rows, gather, of_host, styled
from jaxtui.ui.text import meter

LOOKS: dict[str | None, Mark] = {
    "pass": Mark("✓", "pass", "check-pass"),
    "low": Mark("▾", "low", "check-low"),
    "impossible": Mark("!", "impossible", "check-fail"),
    "fail": Mark("✗", "FAIL", "check-fail"),
    "skipped": Mark("–", "skipped", "check-none"),
    None: Mark("·", "untested", "check-none"),
}
"""Verdicts as a screen draws them: they must tell without a colour, too."""

FINE = (None, "pass", "skipped")
"""The verdicts that need no attention."""

ROWS_APART = 3
"""The devices with the same trouble that get a row each; more share one."""

MOST_CULPRITS = 4
"""The devices named in a sentence; the rows name all."""

GRID_DEVICES = 16
"""The devices that have a line each in a text."""

WIDEST_NAMES = 18

LEAST_SAID = (
    *("present", "memory", "dispatch", "transfer", "collectives", "numerics"),
    *("bandwidth", "compute"),
)
"""The tests, those first whose cell says least where all is well."""

_QUANTITIES: dict[str, fmt.Quantity] = {
    "bytes": "memory",
    "flop/s": "FLOP/s",
    "bytes/s": "B/s",
    "seconds": "s",
}


def exam_of(state: State) -> Examination | None:
    """The last health check so far."""
    exam = state.series.get("check")
    return exam if isinstance(exam, Examination) else None


# The document.


def result(state: State, complete: bool) -> Checked:
    """Return the last health check so far, judged."""
    exam = exam_of(state)
    verdicts: list[Verdict] = []
    if exam is not None:
        judged = judge(exam.readings, exam.devices, exam.baseline)
        verdicts = sorted(judged, key=lambda v: CHECK_TESTS.index(v.reading.test))
    hosts = {x.name: x.hostname for x in state.devices if x.hostname}
    return Checked(
        command="check",
        host=state.host,
        complete=exam is not None and exam.outcome == "complete",
        devices=tuple(map(DeviceRow.of, state.devices)),
        level=exam.level if exam else "quick",
        baseline=exam.baseline.file if exam and exam.baseline else None,
        tests=tuple(figure_of(v, hosts.get(v.reading.device or "")) for v in verdicts),
        verdict=overall(verdicts),
        notes=tuple(_notes(state, exam, verdicts)) if exam else (),
    )


def figure_of(
    verdict: Verdict, hostname: str | msgspec.UnsetType | None = None
) -> Figure:
    """Return the row of a verdict."""
    reading, remarks = verdict.reading, verdict.remarks
    why = remarks
    if verdict.word != "skipped":
        why = tuple(remark for remark in remarks if remark.severity != "info")
    return Figure(
        test=reading.test,
        device=reading.device,
        what=reading.what,
        verdict=verdict.word,
        measured=reading.measured,
        expected=verdict.expected,
        unit=reading.unit,
        share=verdict.share,
        ci_low=reading.ci_low,
        ci_high=reading.ci_high,
        confidence=reading.confidence,
        source=words.sentence(verdict.source) if verdict.source else "",
        reason=" ".join(map(words.text, why)),
        detail="\n".join(remark.detail for remark in remarks if remark.detail),
        hostname=hostname or msgspec.UNSET,
    )


def _notes(
    state: State, exam: Examination, verdicts: Sequence[Verdict]
) -> Iterator[Note]:
    """Yield each remark once, with its tests and devices, then what was expected."""
    alike: dict[tuple[str, Remark], list[Verdict]] = {}
    for verdict in verdicts:
        for remark in verdict.remarks:
            key = verdict.reading.test, without_amount(remark)
            alike.setdefault(key, []).append(verdict)
    rows: dict[str, list[Remark]] = {verdict.reading.test: [] for verdict in verdicts}
    for (test, code), members in alike.items():
        names = dict.fromkeys(v.reading.device for v in members if v.reading.device)
        some = 0 < len(names) < len(exam.devices)
        label = f"{test} of {_short_names([*names], ())}" if some else test
        remarks = [r for v in members for r in v.remarks if without_amount(r) == code]
        rows.setdefault(label, []).extend(remarks)
    yield from (x.note for x in gather(rows.items(), state.findings))
    if exam.baseline is not None and state.host is not None:
        changed = [str(fact) for fact in differences(exam.baseline, state.host)]
        since = f" Changed since: {'; '.join(changed)}." if changed else ""
        text = f"Compared with {exam.baseline.name}.{since}"
        yield Note(flag="baseline", text=text)
    if remote := [device for device in state.devices if not device.addressable]:
        processes = len({device.process_index for device in remote})
        text = f"{fmt.plural(len(remote), 'device')} of"
        text += f" {fmt.plural(processes, 'other process')}. Check them there, too."
        yield Note(flag="not tested here", text=text)
    timed = ("flop/s", "bytes/s", "seconds")
    unrated = dict.fromkeys(
        v.reading.test
        for v in verdicts
        if v.reading.unit in timed and v.reading.measured and v.expected is None
    )
    if unrated:
        kinds = fmt.listed(dict.fromkeys(x.device_kind for x in exam.devices))
        text = f"jaxtui knows no published figures to compare with on {kinds}. Save"
        text += " this check as JSON and compare a later one with it."
        yield Note(flag="nothing published", text=text, about=tuple(unrated))
    sources: dict[str, dict[str, None]] = {}
    for verdict in verdicts:
        if verdict.source is not None:
            source = words.sentence(verdict.source)
            sources.setdefault(source, {})[verdict.reading.what] = None
    for source, whats in sources.items():
        yield Note(flag="expected", text=source, about=tuple(whats))


# The report.


def report(check: Checked, state: State) -> Report:
    """Return the report of a check so far."""
    exam = exam_of(state)
    devices = exam.devices if exam else ()
    tables = [figures(check.tests, devices)]
    if 1 < len(devices) <= GRID_DEVICES:
        tables.insert(0, grid(check, exam))
    kinds = dict.fromkeys(
        "SIMULATED devices" if device.simulated else device.device_kind
        for device in devices
        if device.simulated or device.platform != "cpu"
    )
    return Report(
        title=f"check · {check.level} · {fmt.plural(len(devices), 'device')}",
        verdict=headline(check, exam),
        tables=tables,
        notes=check.notes,
        host=" · ".join(filter(None, (of_host(check.host), *kinds))),
    )


def headline(check: Checked, exam: Examination | None) -> Text:
    """The verdict, who is to blame, and what to do next."""
    word, look = check.verdict, LOOKS[check.verdict]
    if exam is None:
        return Text()
    so_far = Text.assemble((" so far: ", "muted"), (look.word, word))
    if exam.outcome is None:
        share, doing = progress(exam)
        bar = ((span.text, span.role) for span in meter(share, 2 * len(exam.tests)))
        line = Text.assemble(("CHECKING ", "title"), *bar, f" {doing}")
        return line + so_far if check.tests else line
    advice = f" {_advice(check, exam.devices)}"
    if exam.outcome == "complete":
        badge = f" {look.word.upper()} ", f"badge-{word}"
        return Text.assemble(badge, styled(advice))
    read = sum(test in {x.test for x in check.tests} for test in exam.tests)
    title = " STOPPED "
    text = f" {read} of {len(exam.tests)} tests have readings."
    if exam.outcome == "incomplete":
        title = " INCOMPLETE "
        text = " The engine died during the check: some results are missing."
    ending = "." if word in FINE else f".{advice}"
    return Text.assemble(
        (title, "badge"),
        text,
        (" So far: ", "muted"),
        (look.word, word),
        styled(ending),
    )


def place(state: State) -> str:
    """``compute 3 of 7``; empty before and afterwards."""
    exam = exam_of(state)
    return progress(exam)[1] if exam else ""


def progress(exam: Examination) -> tuple[float, str]:
    """The share of the tests that are done, and the place of the running one."""
    check = exam.check or exam.next_check
    if check is None:
        return 0.0, ""
    done = exam.tests.index(check.test)
    return done / len(exam.tests), f"{check.test} {done + 1} of {len(exam.tests)}"


def count(check: Checked) -> tuple[int, int]:
    """Return the number of figures, twice: each of them is there or has a reason."""
    return len(check.tests), len(check.tests)


def _advice(check: Checked, devices: Sequence[Device]) -> str:
    word = check.verdict
    guilty = [figure for figure in check.tests if figure.verdict == word]
    low = [x for x in check.tests if x.verdict == "low" != word]
    culprits, others = (_culprits(these, devices) for these in (guilty, low))
    more = f" Low: {others}." if low else ""
    match word:
        case "skipped":
            return "No test could run."
        case "pass":
            passed = {figure.test for figure in guilty}
            compared = {x.test for x in check.tests if x.expected is not None}
            return f"{len(passed)} ran, {len(compared)} compared."
        case "low":
            return f"{culprits}. See who else uses the machine, then run a full check."
        case "impossible":
            return (
                f"{culprits}: faster than the hardware's peak. Don't trust any timing"
                f" on this machine until a full check passes.{more}"
            )
        case _:
            return (
                f"{culprits}. Don't rely on it: restart the machine and check again. If"
                " the fault stays, send this report to whoever provides the machine."
                f"{more}"
            )


def _culprits(wrong: Sequence[Figure], devices: Sequence[Device]) -> str:
    """``tpu:3 at 1,1,0 in compute and numerics; this machine in present``."""
    tests: dict[str | None, list[str]] = {}
    for figure in wrong:
        tests.setdefault(figure.device, []).append(figure.test)
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


def _short_names(names: Sequence[str], devices: Sequence[Device]) -> str:
    """Devices in short: ``tpu:3 at 1,1,0``, ``tpu:0-7``, ``12 devices``."""
    if not names:
        return "machine"
    if len(names) == 1:
        labels = (device.label for device in devices if device.name == names[0])
        return next(labels, names[0])
    short = f"{len(names)} devices"
    if len({name.partition(":")[0] for name in names}) > 1:
        return short
    text = group_name(names)
    return text if len(text) <= WIDEST_NAMES else short


# Figures.


@dataclass(frozen=True)
class Row:
    """A row for one or more devices with the same verdict on the same thing."""

    members: Sequence[Figure]

    @property
    def first(self) -> Figure:
        return self.members[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the devices; none for a reading of the machine as a whole."""
        return tuple(figure.device for figure in self.members if figure.device)

    @property
    def measured(self) -> str:
        """``171 TFLOP/s``, or of several devices ``168–171 TFLOP/s``."""
        unit = self.first.unit
        values = [x.measured for x in self.members if x.measured is not None]
        if not values:
            return ""
        low, high = min(values), max(values)
        if amount(low, unit) == amount(high, unit):
            return amount(high, unit)
        cell = fmt.figure(high, _QUANTITIES[unit]) if unit in _QUANTITIES else ""
        if isinstance(cell, fmt.Figure):
            return str(fmt.Figure((low, high), cell.quantity, cell.unit))
        return f"{amount(low, unit)}–{amount(high, unit)}"

    @property
    def expected(self) -> str:
        """``197 TFLOP/s``, ``≤ 1.0e-2``; a dash where nothing is expected of all."""
        values = {figure.expected for figure in self.members}
        if len(values) > 1 or None in values:
            return "" if not self.measured or len(values) > 1 else fmt.ABSENT
        text = amount(values.pop(), self.first.unit)
        return f"≤ {text}" if self.first.unit == "relative error" else text

    @property
    def shares(self) -> list[float]:
        return [figure.share for figure in self.members if figure.share is not None]

    @property
    def share(self) -> str:
        """The reached share of the expectation; empty where there is none."""
        if not self.shares:
            return ""
        low, high = min(self.shares), max(self.shares)
        if self.first.unit == "seconds":
            return "–".join(dict.fromkeys((fmt.ratio(low), fmt.ratio(high))))
        ends = dict.fromkeys((fmt.percents(low), fmt.percents(high)))
        return f"{'–'.join(ends)} %"


def rows(found: Iterable[Figure]) -> list[Row]:
    """The figures of one test: those that agree together, those in trouble apart.

    Rows of the same thing follow each other, the best first.
    """
    alike: dict[tuple[str, str, str], list[Figure]] = {}
    for figure in found:
        why = "" if figure.verdict == "pass" else figure.reason
        key = figure.what, figure.verdict, why if figure.verdict == "skipped" else ""
        alike.setdefault(key, []).append(figure)
    table: list[Row] = []
    for (_, word, _), members in alike.items():
        together = word in FINE or len(members) > ROWS_APART
        table += [Row(members)] if together else [Row([member]) for member in members]
    whats = [what for what, _, _ in alike]
    table.sort(
        key=lambda row: (
            whats.index(row.first.what),
            SEVERITY.index(row.first.verdict),
        )
    )
    return table


def amount(value: float | None, unit: str) -> str:
    """A figure as people read it: ``169 TFLOP/s``, ``4 chips``, ``2.1e-3``."""
    if value is None:
        return fmt.ABSENT
    if unit == "chips":
        return f"{value:g} {'chip' if value == 1 else 'chips'}"
    if unit == "relative error":
        return fmt.error(value)
    return str(fmt.figure(value, _QUANTITIES[unit])) if unit else f"{value:g}"


def figures(found: Sequence[Figure], devices: Sequence[Device]) -> Rows:
    """A row for each figure, test by test; what was skipped is a note."""
    listed = [
        row
        for test in CHECK_TESTS
        for row in rows(figure for figure in found if figure.test == test)
        if row.first.verdict != "skipped"
    ]
    columns = [
        Column("", [_mark(row.first.verdict) for row in listed]),
        Column("test", [*_once(row.first.test for row in listed)], rank=2),
        Column("figure", [Text(row.first.what, "muted") for row in listed], least=20),
        Column("device", [_who(row, len(devices)) for row in listed]),
        Column("measured", [_measured(row) for row in listed], right=True),
        Column("expected", [row.expected for row in listed], right=True, rank=3),
        Column("share", [row.share for row in listed], right=True, rank=1),
    ]
    if len(devices) < 2:
        del columns[3]
    # A column without any text says nothing.
    return Rows([column for column in columns if any(map(str, column.cells))])


def _mark(word: VerdictWord) -> Text:
    return Text(LOOKS[word].text, word)


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


def _measured(row: Row) -> Text:
    """A figure from rounds that is not known to within a third is not bold."""
    low, high, sure = row.first.ci_low, row.first.ci_high, row.first.confidence
    vague = low is not None and high is not None and sure is not None
    if vague and is_vague(low or 0.0, high or 0.0, sure or 0.0):
        return Text(f"~{row.measured}", "unknown")
    return Text(row.measured, "title")


# Verdicts by device.


def marks(check: Checked, devices: Sequence[Device]) -> Mapping[str, Mark]:
    """Return the mark of each device on a chip map, in the order of its legend."""
    verdicts: dict[str | None, list[Figure]] = {}
    for figure in check.tests:
        verdicts.setdefault(figure.device, []).append(figure)
    worst = {device.name: _worst(verdicts.get(device.name, ())) for device in devices}
    return {
        name: LOOKS[word]
        for word in (*SEVERITY, None)
        for name in worst
        if worst[name] == word
    }


def _worst(found: Iterable[Figure]) -> VerdictWord | None:
    words = (figure.verdict for figure in found)
    return max(words, key=SEVERITY.index, default=None)


def grid(check: Checked, exam: Examination | None) -> Rows:
    """A row for each device, and a column for each test.

    Where there is no room for all, those that say least go first, and those in which
    something is wrong last.
    """
    devices, tests = (exam.devices, exam.tests) if exam else ((), ())
    columns = [Column("id", [device.name for device in devices])]
    if hosts := hostnames(devices):
        columns.append(Column("host", hosts, rank=len(CHECK_TESTS) + 2))
    found: dict[tuple[str | None, str], list[Figure]] = {}
    for figure in check.tests:
        found.setdefault((figure.device, figure.test), []).append(figure)
    for test in tests:
        cells = [
            _cell(found.get((x.name, test), []), found.get((None, test), []))
            if (x.name, test) in found or not _at_work(exam, test, x.name)
            else Text("…", "muted")
            for x in devices
        ]
        room = max(len(test), *(cell.cell_len for cell in cells))
        for cell in cells:
            cell.align("center", room)
        wrong = _worst(x for x in check.tests if x.test == test) not in FINE
        rank = 1 if wrong else len(CHECK_TESTS) + 1 - LEAST_SAID.index(test)
        columns.append(Column(test, cells, rank=rank))
    return Rows(columns)


def _at_work(exam: Examination | None, test: CheckTest, device: str) -> bool:
    running = exam is not None and exam.check is not None and exam.check.test == test
    return running and exam is not None and device in exam.at_work


def _cell(own: Sequence[Figure], machine: Sequence[Figure]) -> Text:
    """The verdict on a device in one test in four cells; a share alone has passed."""
    if not own:
        # What is wrong with the machine as a whole is not this device's fault.
        word = _worst(machine)
        look = LOOKS[word if word in FINE else None]
        return Text(look.text, look.role)
    # The row that tells most: the worst verdict, then the lowest share.
    row = max(
        rows(own),
        key=lambda row: (
            SEVERITY.index(row.first.verdict),
            -min(row.shares, default=math.inf),
        ),
    )
    word = row.first.verdict
    mark, share = LOOKS[word].text, ""
    if row.shares and word in ("pass", "low"):
        share = row.share.replace(" ", "")
        mark = mark if word == "low" else ""
    role = LOOKS[word].role + ("" if word in FINE else "-selected")
    return Text(mark + share, role)


def _code(check: Checked) -> int:
    """The exit code: that nothing was tested says nothing if it was broken off."""
    nothing = check.verdict == "skipped" and not check.complete
    return 0 if nothing else EXIT_CODES[check.verdict]


OUTCOME = Outcome(Checked, result, report, count, _code)
