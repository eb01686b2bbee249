"""The report of a profile, its files, and its difference from another one."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from jaxtui.core.model import SelectionError
from jaxtui.core.model.profile import Frame, Transfer
from jaxtui.features.profile import report as profile
from jaxtui.features.profile.judge import By
from jaxtui.features.profile.report import document
from jaxtui.features.profile.report.difference import difference
from jaxtui.features.profile.report.flame import flame
from jaxtui.ui.documents import encode
from jaxtui.ui.report import Rows, as_text
from tests.records import FRAMES, gap, kernel, profiled

DOT = kernel("dot.1", 4e-3, 6e-3, flops=8e6, bytes=1e6)
FUSED = kernel("fusion.2", 2e-3, 2e-3, stacks=((0, 1, 2), (3, 1, 2)))
COPY = kernel("copy.3", 1e-3, 1e-3, stacks=((),), kind="copy")
FOUND = profiled(DOT, FUSED, COPY, gaps=(gap(2e-3),))


def cells(table: Rows, head: str) -> list[str]:
    (column,) = (each for each in table.columns if each.head == head)
    return [as_text(cell).plain for cell in column.cells]


def main(by: By, most: int = 15) -> Rows:
    return profile.report(FOUND, by, most=most).tables[1]


def test_what_is_cut_is_a_row() -> None:
    cut = main("op", most=1)
    keys = cells(cut, "op")
    assert (keys[0], keys[1]) == ("dot.1", "idle")
    assert keys[2].startswith("2 ")
    assert float(cells(cut, "ms")[2]) == pytest.approx(3.0)


def test_a_line_stands_with_its_code(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("import jax\n    y = x @ w  \n")
    frames = (Frame(file=str(file), line=2, function="f"), *FRAMES[1:])
    found = profiled(DOT, frames=frames)
    assert cells(profile.report(found, "line").tables[1], "line")[0].endswith(
        "y = x @ w"
    )
    for gone in (Frame(file=str(file), line=9, function="f"), FRAMES[0]):
        assert profile.code(gone) == ""


@pytest.mark.parametrize(
    ("flops", "moved", "expected"),
    [
        (3.2e9, 1e6, "80 % compute"),
        (4.12e9, 1e6, "103 % compute"),
        (8e9, 1e6, "impossible"),
        (1e6, 3e9, "75 % memory"),
        (1e6, 8e9, "from cache"),
        (None, None, ""),
    ],
)
def test_no_kernel_is_far_beyond_its_roof(
    flops: float | None, moved: float | None, expected: str
) -> None:
    peak = 1e12 if flops else None
    of = kernel("dot.1", 4e-3, 4e-3, flops=flops, bytes=moved, flops_per_second=peak)
    found = profiled(of, bytes_per_second=1e12)
    table = profile.report(found, "op").tables[1]
    shown = [each for each in table.columns if each.head == "of roof"]
    assert [as_text(each.cells[0]).plain for each in shown] == [expected] * bool(
        expected
    )


def test_waits_and_transfers_are_told() -> None:
    heads = [table.columns[0].head for table in profile.report(FOUND).tables]
    assert heads == ["", "line", "wait"]
    busy = kernel("dot.1", 10e-3, 10e-3)
    found = profiled(busy, gaps=(gap(1e-6),))
    assert len(profile.report(found).tables) == 2

    moved = Transfer(name="H2D", count=3, bytes=2048.0, seconds=1e-3)
    table = profile.report(profiled(DOT, transfers=(moved,))).tables[-1]
    assert cells(table, "count") == ["3"]


# Documents.


def test_a_table_to_take_away_is_in_base_units() -> None:
    rows = list(csv.DictReader(io.StringIO(document.as_csv(FOUND, "line"))))
    assert sum(float(row["self_seconds"]) for row in rows) == pytest.approx(10e-3)
    assert rows[0]["file"] == "/home/ada/train.py"
    assert rows[-1]["key"] == "idle"


def test_the_flame_is_as_wide_as_the_time() -> None:
    drawn = flame(FOUND)
    tree = ElementTree.fromstring(drawn)
    boxes = tree.findall("{http://www.w3.org/2000/svg}g")
    titles = [box[0].text or "" for box in boxes]
    wide = {
        title.partition(" ")[0]: float(box[1].attrib["width"])
        for title, box in zip(titles, boxes, strict=True)
    }
    assert wide["step:13"] == pytest.approx(1200 * 7 / 8, abs=1)
    assert wide["copy.3"] == pytest.approx(1200 / 8, abs=1)
    # What comes from outside is text.
    frames = (Frame(file="<b>&.py", line=1, function="\x1b[2J<script>"), *FRAMES[1:])
    drawn = flame(profiled(DOT, frames=frames, source="a<b"))
    assert ElementTree.fromstring(drawn) is not None
    assert "\x1b" not in drawn


# Difference.


def test_what_became_slower_comes_first(tmp_path: Path) -> None:
    slower = profiled(kernel("dot.1", 7.5e-3, 7.5e-3), FUSED)
    before, after = document.document(FOUND, ""), document.document(slower, "")
    table = difference(before, after, "line").tables[0]
    keys = cells(table, "line")
    assert keys[0] == "train.py:4"
    assert set(keys[1:]) == {"train.py:5", profile.NO_LINE, "idle"}
    assert cells(table, "change")[0].startswith("+2")
    file = tmp_path / "before.json"
    file.write_bytes(encode(before))
    assert document.read(file).rows == before.rows


WRITTEN = encode(document.document(FOUND, ""))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[1]",
        b"\xff",
        b"[" * 100_000,
        b'{"rows":' + b"[" * 100_000,
        b'{"a":' * 100_000,
        WRITTEN.replace(b'"schema":2,', b'"schema":99,'),
        re.sub(rb'"self_seconds":[^,]+', b'"self_seconds":1e308', WRITTEN),
        re.sub(rb'"step_seconds":[^,]+', b'"step_seconds":-1e300', WRITTEN),
    ],
    ids=range(10),
)
def test_another_file_is_no_profile(content: bytes, tmp_path: Path) -> None:
    assert content != WRITTEN
    file = tmp_path / "other.json"
    file.write_bytes(content)
    with pytest.raises(SelectionError):
        document.read(file)
    with pytest.raises(SelectionError):
        document.read(tmp_path / "nothing.json")
