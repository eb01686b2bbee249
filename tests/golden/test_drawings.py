"""Reports, tables, maps and plots of what the tests of a feature have made up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from jaxtui.features.check import report as checks
from jaxtui.features.check.judge import judge
from jaxtui.features.check.measure import present
from jaxtui.features.check.report import OUTCOME as CHECK
from jaxtui.features.devices import load
from jaxtui.features.devices.report import explain
from jaxtui.features.history import report as history
from jaxtui.features.links import report as links
from jaxtui.machine.topologies import devices, names
from jaxtui.ui.chipmap import layout, render
from jaxtui.ui.commands.progress import progress_line
from jaxtui.ui.report import Cell, Column, as_text, terminal
from jaxtui.ui.text import Line
from tests.features.check import test_exam as of_exam
from tests.features.check import test_judge as of_judge
from tests.features.check import test_present as of_present
from tests.features.check import test_report as of_checks
from tests.features.devices import test_load as of_loads
from tests.features.devices import test_report as of_devices
from tests.features.history import test_report as of_history
from tests.features.links import test_report as of_links
from tests.golden.test_reports import freeze, marked
from tests.ui import test_chipmap as of_chips
from tests.ui import test_report as of_report
from tests.ui.commands import test_output as of_progress
from tests.ui.plot import test_plot as of_plots


def cell(content: Cell) -> str:
    """A text, and its styles."""
    text = as_text(content)
    styles = {str(text.style), *(str(span.style) for span in text.spans)} - {""}
    return text.plain.strip() + f"‹{', '.join(sorted(styles))}›" * bool(styles)


def rows(columns: Sequence[Column]) -> list[str]:
    heads = [column.head for column in columns]
    cells = zip(*(map(cell, column.cells) for column in columns), strict=True)
    return [" | ".join(row).rstrip() for row in (heads, *cells)]


def lines(drawn: Iterable[Line]) -> list[str]:
    return [*map(marked, drawn)]


def test_checks() -> None:
    told, devices = [], of_checks.DEVICES
    for name, exam in of_checks.EXAMS.items():
        document, report = of_checks.document(exam), of_checks.build(exam)
        code = CHECK.code
        assert code
        told += [f"# {name}: {report.title}, exit code {code(document)}"]
        told += [terminal(report, 80), "with styles:"]
        told += [text for table in report.tables for text in rows(table.columns)]
    flat = [replace(one, coords=None) for one in devices]
    for name, exam, found, size in (
        ("a map", of_checks.FAULTY, devices, (30, 7)),
        ("a narrow map", of_checks.FAULTY, devices, (19, 14)),
        ("without coords", of_checks.BEGUN, flat, (40, 8)),
    ):
        marks = checks.marks(of_checks.document(exam), found)
        drawn = render(replace(layout(found), marks=marks), *size, "tpu:0")
        told += [f"# {name}", *lines(drawn)]
    freeze("checks", told)


def test_verdicts() -> None:
    told = []
    for name, judged in of_judge.JUDGED.items():
        *others, last = judge(*judged)
        assert {other.word for other in others} <= {"pass"}
        source = last.source.code if last.source else "nothing"
        share = "" if last.share is None else f", {last.share:.3f}"
        told.append(f"{name}: {last.word}, {source} {last.expected or 0:.4g}{share}")
        for remark in last.remarks:
            facts = ", ".join(f"{key} {fact}" for key, fact in remark.facts.items())
            told.append(f"    {remark.code}: {facts}".rstrip(": "))
    freeze("verdicts", told)


def test_who_is_blamed_and_who_gets_another_turn() -> None:
    told = []
    for script in of_exam.SCRIPTS:
        exam = of_exam.played(script)
        faults, skipped = (
            of_exam.numbers_of(exam, kind) for kind in ("fault", "skipped")
        )
        check: Any = exam.next_work
        left = f"{check.test} on {', '.join(check.devices)}" if check else exam.outcome
        told += [script, f"    faults: {faults}", f"    skipped: {skipped}"]
        told.append(f"    then {left}, {len(exam.readings)} readings")
    freeze("blamed", [line.rstrip() for line in told])


def test_chips_that_are_present() -> None:
    told = []
    for name, counted in of_present.COUNTED.items():
        told.append(f"# {name}")
        for one in present.readings(*counted):
            assert (one.device, one.unit) == (None, "chips")
            wanted = one.expected
            more = f", expected {wanted.value:g} {wanted.kind}" if wanted else ""
            told.append(f"{one.what}: {one.measured:g}{more}")
            told += [
                f"    {remark.severity} {remark.code}: {dict(remark.facts)}"
                for remark in (*one.remarks, *([wanted.source] if wanted else ()))
            ]
    freeze("present", told)


def test_devices() -> None:
    told = []
    for name, table in of_devices.TABLES.items():
        columns = [
            replace(one, cells=one.cells[:8]) for one in of_devices.fitted(*table)
        ]
        told += [f"# {name}", *rows(columns)]
    for name, groups in of_devices.GROUPS.items():
        told.append(f"# {name}")
        told += [
            f"{group}: {fact} = {value}"
            for group, facts in groups.items()
            for fact, value in facts
        ]
    for name, report in of_devices.REPORTS.items():
        head, *text = terminal(report, 80).splitlines()
        told += [f"# {name}: {len(text)} lines", head, *text[:12], text[-1]]
    freeze("device_tables", told)


def test_histories() -> None:
    told = []
    for name, listed in of_history.LISTS.items():
        # The time depends on the zone.
        columns = [one for one in history.columns(listed) if one.head != "when"]
        told += [f"# {name}", *rows(columns)]
    for entry in of_history.ENTRIES:
        report = history.report(entry)
        told.append(cell(report.headline))
        told += [text for table in report.tables for text in rows(table.columns)]
    freeze("histories", told)


def test_links() -> None:
    told = []
    for name, (found, state) in of_links.MEASURED.items():
        report = links.report(found, state)
        told += [f"# {name}: {links.count(found)}", terminal(report, 80)]
        devices = links.taking_part(found, state.devices)
        for figure in links.FIGURES:
            heat = links.Heat(found, devices, figure)
            told += [heat.title, " ".join(heat.ids)]
            told += [
                " | ".join(cell(heat.text((one, other))) for other in heat.names)
                for one in heat.names
            ]
            told.append(cell(heat.about((heat.names[0], heat.names[1]))))
    found, state = of_links.MEASURED["all"]
    heat = links.Heat(found, links.taking_part(found, state.devices))
    tall = heat.text(("tpu:2", "tpu:5"), 6, 3).plain.replace(" ", ".")
    freeze("heats", [*told, *tall.splitlines()])


def test_chip_maps() -> None:
    told = []
    for name in names():
        found = devices(name)
        told += [f"# {name}: {explain(found)}"]
        for size in of_chips.SIZES:
            told += lines(render(layout(found), *size, found[-1].name))
        told += lines(render(layout(found), 76, 34, found[0].name, roomy=True))
    for name, (chips, size, selected) in of_chips.DRAWN.items():
        told += [f"# {name}: {explain(chips)}"]
        told += lines(render(layout(chips), *size, selected))
    freeze("chip_maps", told)


def test_plots() -> None:
    told = []
    for name, picture in of_plots.DRAWN.items():
        cursor = 1 if name.endswith("values") else None
        for color, size in ((False, (60, 11)), (name == "two clocks", (40, 8))):
            drawn = picture.draw(*size, color=color, cursor=cursor)
            plain = re.sub(r"\x1b\[([0-9;]*)m", r"‹\1›", drawn).splitlines()
            told += [f"# {name}", *(line.rstrip() for line in plain)]
    freeze("plots", told)


def test_reports_in_their_media() -> None:
    printed = of_report.PRINTED.items()
    freeze("reports", [text for pair in printed for text in (f"# {pair[0]}", pair[1])])


def test_lines_of_progress() -> None:
    shown = of_progress.LINES.items()
    freeze(
        "progress", [f"{name}: {progress_line(*line)}".rstrip() for name, line in shown]
    )


def test_loads() -> None:
    told = []
    for name, loads in of_loads.LOADS.items():
        for width, height in ((34, 3), (103, 3)):
            told += [
                f"# {name}",
                *lines(load.lines(load.gauges(*loads), width, height)),
            ]
    freeze("loads", told)
