"""Files to take away: whole, in base units, well named, and never over another."""

from __future__ import annotations

import csv
import io
import os
import re
from pathlib import Path

import msgspec
import pytest

from jaxtui.core.model import Case, Failure
from jaxtui.core.model.measurement import CollectiveRates
from jaxtui.features.bench.messages import Results
from jaxtui.features.bench.spreadsheet import CSV as COLUMNS
from jaxtui.features.bench.spreadsheet import as_csv
from jaxtui.ui import report as render
from jaxtui.ui.export import (
    ExistsError,
    ExportError,
    check,
    csv_text,
    file_stem,
    of_cases,
    stamp,
    write,
)
from tests.core.history.making import HOST, measurement
from tests.records import told

FAILED = Failure(
    case=measurement(size=9).case, remark=told('It "failed", badly.', "Try | less.")
)
RATES = CollectiveRates(
    participants=4,
    algorithm_bytes_per_second=1e9,
    bus_bytes_per_second=1.5e9,
    wrong=0,
)
ONES = (
    msgspec.structs.replace(measurement(), collective=RATES),
    msgspec.structs.replace(
        measurement("selu", mode="numpy", device="host"), stable=False
    ),
)
RESULTS = Results.of(HOST, ONES, (FAILED,))
NOTHING = Results.of(None, (), ())


def test_csv_is_read_back_as_it_was() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(RESULTS))))
    assert tuple(rows[0]) == COLUMNS
    assert float(rows[0]["ready_median"]) == 0.002
    assert int(rows[0]["ready_n"]) == 100
    assert float(rows[0]["first_call_seconds"]) == 0.01
    assert rows[0]["dispatch_median"] == ""
    assert rows[0]["hostname"] == "box"
    assert float(rows[0]["bus_bytes_per_second"]) == 1.5e9
    assert [row["stable"] for row in rows] == ["True", "False", ""]
    assert rows[2]["failure"] == 'It "failed", badly. Try | less.'
    assert rows[2]["ready_median"] == ""
    assert len(as_csv(NOTHING).splitlines()) == 1


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t"])
def test_no_cell_of_a_csv_is_a_formula_and_markdown_passes_no_html(begin: str) -> None:
    text = f"{begin}HYPERLINK(1)"
    cells = csv_text(("a", "b"), [{"a": text, "b": -1.5}])
    (row,) = csv.DictReader(io.StringIO(cells, newline=""))
    assert row == {"a": f"'{text}", "b": "-1.5"}
    text = 'a < b <img src=x onerror="y"> </td> <!-- c'
    found = 'a < b &lt;img src=x onerror="y"> &lt;/td> &lt;!-- c'
    assert render.escaped(text) == found


def test_a_file_is_never_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.CSV"
    check(path, [".csv"])
    write(path, "first")
    with pytest.raises(ExistsError):
        write(path, "second")
    with pytest.raises(ExistsError):
        check(path, [".csv"])
    assert path.read_bytes() == b"first"
    check(path, [".csv"], replace=True)
    write(path, "second", replace=True)
    assert path.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["RESULTS.CSV"]
    with pytest.raises(ExportError, match="one of these endings"):
        check(tmp_path / "results.csv", [".md"])


def test_others_may_read_it_as_far_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "results.csv", "")
    finally:
        os.umask(before)
    assert (tmp_path / "results.csv").stat().st_mode & 0o777 == 0o640


def test_what_cannot_be_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ExportError, match="Cannot write"):
        write(tmp_path / "nul\0.csv", "")
    # The super-user may write to every folder, so its mode alone tells nothing.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ExportError, match="No permission"):
        check(tmp_path / "results.csv")


# Names.

ONE = measurement("matmul", 4096, dtype="bfloat16").case


def changed(**fields: object) -> Case:
    return msgspec.structs.replace(ONE, **fields)


@pytest.mark.parametrize(
    ("cases", "name"),
    [
        ((ONE,), "matmul-4096-bfloat16"),
        ((ONE, changed(mode="numpy", dtype="float32")), "matmul-4096-bfloat16-float32"),
        ((changed(size=16), changed(size=64), ONE), "matmul-16-4096-bfloat16"),
        (
            (ONE, changed(op="selu"), changed(op="sum"), changed(dtype="float16")),
            "3-ops-4096-bfloat16-float16",
        ),
        # A function of the user's own: no size yet, and a path that is not to be.
        ((changed(op="/a b/train.py:step", size=0, dtype=""),), "step"),
    ],
)
def test_op_size_and_dtype(cases: tuple[Case, ...], name: str) -> None:
    assert of_cases(cases) == name


def test_nothing_in_a_name_needs_quotes() -> None:
    name = file_stem("history", "bf16 µs", "a/b:c*?", "", "tpu:0", stamp(0.0))
    assert re.fullmatch(r"[\w.+-]+", name, re.ASCII)
    assert name.startswith("history-bf16_s-a_b_c-tpu_0-19")
