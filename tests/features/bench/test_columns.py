"""The table of a run on a screen: what stays, one unit, bars to scale."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.core.format import Unit
from jaxtui.core.model import Failure, Remark
from jaxtui.core.state import CaseState, Job
from jaxtui.features.bench import report as bench
from jaxtui.features.bench.figures import figure
from jaxtui.ui.report import Column, as_text, fitting
from jaxtui.ui.text import Line, plain
from tests.records import summary, told
from tests.ui.making import JIT, NUMPY, done, over_sizes, run_of

RUN = over_sizes(NUMPY, JIT)


Shown = list[tuple[Column, int]]


def table(run: Job, width: int = 200, *, marked: bool = False) -> Shown:
    columns = bench.result_columns(run, room=8, swept=run if marked else None)
    return fitting(columns, width)


def keys(found: Shown) -> list[str]:
    return [column.key or column.head for column, _ in found]


def column(found: Shown, key: str) -> list[str]:
    cells = found[keys(found).index(key)][0].cells
    return [as_text(cell).plain.strip() for cell in cells]


def head(found: Shown, key: str) -> str:
    return found[keys(found).index(key)][0].head


def cell(found: Shown, row: int, key: str) -> Line:
    cell = found[keys(found).index(key)][0].cells[row]
    assert isinstance(cell, tuple)
    return cell


def roles(line: Line) -> list[str]:
    return [span.role for span in line if span.text.strip()]


@pytest.mark.parametrize("width", [20, 40, 56, 76, 116])
def test_columns_drop_out_until_the_others_fit(width: int) -> None:
    found = table(RUN, width)
    shown = keys(found)
    assert {"size", "mode", "ready"} <= set(shown)
    used = sum(width for _, width in found) + 2 * (len(shown) - 1)
    assert used <= width or set(shown) == {"size", "mode", "ready"}
    # What matters less goes first.
    later = (("interval", "rate"), ("rate", "factor"), ("factor", "bar"))
    for one, other in later:
        assert one in shown or other not in shown


def test_what_all_cases_share_is_not_repeated() -> None:
    assert not {"op", "dtype", "device"} & set(keys(table(RUN)))
    other = msgspec.structs.replace(
        JIT, op="selu", dtype="bfloat16", device="tpu:1", inputs="host"
    )
    found = table(run_of(done(JIT), done(other), done(NUMPY)))
    assert {"op", "dtype", "device"} <= set(keys(found))
    assert column(found, "mode") == ["jit", "jit, host", "numpy"]


def test_a_column_has_one_unit() -> None:
    found = table(run_of(done(JIT, 815e-6), done(JIT, 0.541)))
    assert (head(found, "ready"), head(found, "interval")) == ("ready ms", "95 %")
    assert column(found, "ready") == ["0.815", "541"]
    assert column(found, "interval")[0].count("–") == 1


def test_intervals_have_a_column_once_there_is_one() -> None:
    lone = msgspec.structs.replace(summary(1.0), rounds=1)
    assert "interval" not in keys(table(run_of(done(JIT, ready=lone))))
    assert "interval" in keys(table(run_of(done(JIT, ready=lone), done(NUMPY))))


def test_bars_are_to_scale_or_say_log() -> None:
    found = table(run_of(done(JIT, 1e-3), done(NUMPY, 4e-3)))
    assert column(found, "bar") == ["██", "████████"]
    assert head(found, "bar") == ""
    far = table(run_of(done(JIT, 1e-6), done(NUMPY, 4e-3)))
    short, whole = column(far, "bar")
    assert head(far, "bar") == "log"
    assert 0 < len(short) < len(whole) == 8


def test_a_case_that_is_sampled_shows_its_rounds() -> None:
    for rounds, drawn in (((1.0, 2.0, 3.0), "▁▅█"), ((1.0, 1.0), "▁▁"), ((), "")):
        case = replace(done(JIT), status="running", rounds=rounds)
        assert column(table(run_of(case)), "bar") == [drawn]


def test_a_row_says_what_is_different_about_it() -> None:
    bimodal = Remark("bimodal", severity="warning")
    few = Remark("few-rounds", severity="warning")
    failure = Failure(case=JIT, remark=told("Out of memory."))
    run = run_of(
        done(JIT, notes=(few, bimodal)),
        done(msgspec.structs.replace(JIT, size=9), notes=()),
        CaseState(JIT, status="failed", doing="compile", failure=failure),
        CaseState(JIT, status="running", doing="first_call"),
        CaseState(JIT),
    )
    found = table(run)
    assert column(found, "flags")[:3] == ["▲2", "", "✗"]
    assert column(found, "notes")[:3] == ["few rounds", "", "refused"]
    assert column(found, "ready")[2:] == ["failed", "1st run", "waiting"]
    for key in ("flags", "notes"):
        assert roles(cell(found, 2, key)) == ["bad"]


def test_on_a_small_screen_the_interval_and_the_rate_stay() -> None:
    busy = Remark("few-rounds", severity="warning")
    cases = [
        done(msgspec.structs.replace(one, size=64), notes=(busy,))
        for one in (JIT, NUMPY)
    ]
    others = [done(msgspec.structs.replace(JIT, op="selu", size=10**6))]
    shown = keys(table(run_of(*cases, *others), 80))
    assert {"op", "interval", "rate", "flags"} <= set(shown)


def test_what_is_so_on_every_cpu_stands_in_the_full_notes_alone() -> None:
    usual = [Remark(code) for code in sorted(bench.USUAL)]
    drifting = Remark("drift", {"first": 1.0, "last": 2.0}, "warning")
    run = run_of(done(JIT, notes=(*usual, drifting)), done(NUMPY, notes=()))
    for full, codes in (True, {*bench.USUAL, "drift"}), (False, {"drift"}):
        said = bench.report(run, full=full).notes
        assert {one.remark.code for one in said} == codes
        said = bench.statements(run.cases[0], run, full=full)
        assert {one.remark.code for one in said} == codes
    assert column(table(run), "flags") == ["▲", ""]


def test_rates_are_in_one_unit_where_all_count_the_same() -> None:
    fast, slow = done(JIT), done(NUMPY)
    found = table(run_of(fast, slow))
    assert head(found, "rate").endswith("FLOP/s")
    assert all(text.replace(".", "").isdigit() for text in column(found, "rate"))
    moved = done(JIT, flops_per_second=None, bytes_per_second=2e9)
    mixed = table(run_of(fast, moved))
    assert head(mixed, "rate") == "pipelined"
    assert column(mixed, "rate")[1] == "2.00 GB/s"
    assert head(table(run_of(moved)), "rate") == "pipelined GB/s"
    awaited = done(NUMPY, flops_per_second=None, bytes_per_second=2e9)
    assert head(table(run_of(awaited)), "rate") == "GB/s"


def test_a_factor_says_who_is_faster() -> None:
    found = table(run_of(done(JIT, 1e-3), done(NUMPY, 4e-3)))
    assert column(found, "factor") == ["4.0× 3.97–4.03", ""]
    assert roles(cell(found, 0, "factor")) == ["faster", "muted"]
    slower = table(run_of(done(JIT, 8e-3), done(NUMPY, 4e-3)))
    assert column(slower, "factor")[0].startswith("0.50× ")
    assert roles(cell(slower, 0, "factor")) == ["slower", "muted"]


@pytest.mark.parametrize(
    ("low", "high", "known"),
    [
        (3e-3, 5e-3, True),
        # It may be 1, or it spans more than a factor of two.
        (0.9e-3, 5e-3, False),
        (3e-3, 6.1e-3, False),
    ],
)
def test_of_a_factor_that_is_not_known_there_is_only_the_interval_dim(
    low: float, high: float, known: bool
) -> None:
    numpy = msgspec.structs.replace(summary(4e-3), ci_low=low, ci_high=high)
    found = table(run_of(done(JIT, ready=summary(1e-3)), done(NUMPY, ready=numpy)))
    factor = cell(found, 0, "factor")
    assert (roles(factor) == ["unknown"]) == (not known)
    # Of what is not known there is no median.
    assert plain(factor).strip().startswith("4.0×") == known


def test_the_factor_of_single_rounds_has_no_interval() -> None:
    once = [msgspec.structs.replace(summary(one), rounds=1) for one in (1e-3, 4e-3)]
    once = [msgspec.structs.replace(o, ci_low=o.median, ci_high=o.median) for o in once]
    found = table(run_of(done(JIT, ready=once[0]), done(NUMPY, ready=once[1])))
    assert column(found, "factor") == ["4.0×", ""]


def test_no_figure_is_bright_that_is_not_known_to_within_a_third() -> None:
    wide = msgspec.structs.replace(summary(16e-3), ci_low=34.5e-6, ci_high=16e-3)
    found = table(run_of(done(NUMPY, ready=wide), done(JIT)))
    for key in ("ready", "rate"):
        cells = [cell(found, row, key) for row in (0, 1)]
        assert roles(cells[0]) == ["unknown"]
        assert "value" in roles(cells[1])
    once = msgspec.structs.replace(summary(1e-3), rounds=1)
    assert roles(figure(once.interval, Unit("ms", 1e-3))) == ["unknown"]


def test_every_row_has_the_sign_of_its_curve() -> None:
    found = table(RUN, marked=True)
    assert keys(found)[0] == "mark"
    cells = [cell(found, row, "mark") for row in (0, 1)]
    assert [plain(mark) for mark in cells] == ["•", "◆"]
    # NumPy has the same colour on every screen.
    assert roles(cells[0]) == ["series-2"]


def test_times_that_are_too_far_apart_have_their_units_in_the_cells() -> None:
    wide = msgspec.structs.replace(summary(247e-6), ci_low=175e-6, ci_high=259e-6)
    found = table(run_of(done(JIT, ready=wide), done(NUMPY, 0.604)))
    assert head(found, "ready") == "ready"
    assert column(found, "ready") == ["247 µs", "604 ms"]
    assert column(found, "interval") == ["175–259 µs", "602–606 ms"]
    ready = cell(found, 0, "ready")
    assert roles(ready) == ["value", "unknown", "value"]
