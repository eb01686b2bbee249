"""What a profile says, as ``reports.txt`` holds it: by every key, and beside another.

With ``JAXTUI_GOLDEN=write`` in the environment it is written instead of compared with.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from jaxtui.core.model import Remark, SelectionError
from jaxtui.core.model.profile import Activity, Compile, Frame, Profile, Transfer
from jaxtui.features.profile import judge
from jaxtui.features.profile import report as profile
from jaxtui.features.profile.judge import KEYS, By, Spent
from jaxtui.features.profile.report import document
from jaxtui.features.profile.report.difference import difference
from jaxtui.features.profile.report.flame import flame
from jaxtui.ui.documents import encode
from jaxtui.ui.report import Report, terminal
from tests.golden.test_documents import check_frozen
from tests.records import FRAMES, gap, kernel, profiled

DOT = kernel("dot.1", 4e-3, 6e-3, flops=8e6, bytes=1e6, category="dot", count=2.0)
FUSED = kernel("fusion.2", 2e-3, 2e-3, stacks=((0, 1, 2), (3, 1, 2)))
COPY = kernel("copy.3", 1e-3, 1e-3, stacks=((),), kind="copy")
REDUCED = kernel(
    "all-reduce.3", 1e-3, 1e-3, stacks=((),), kind="collective", hidden_seconds=3e-3
)
FULL = kernel("dot.1", 10e-3, 10e-3)
SLOW = replace(DOT, flops_per_second=4e9)
FAST = replace(DOT, name="dot.9", flops_per_second=16e9)
FOUND = profiled(DOT, FUSED, COPY, gaps=(gap(2e-3),))
HOST = (Activity(name="PjitFunction(loss)", seconds=1e-3),)
COMPILED = (Compile(function="loss", seconds=0.2, compile_seconds=0.1),)
CORES: dict[str, Any] = {"used_cores": 0.9, "cores": 2, "by": "others"}
BUSY = (Remark("contended", CORES, severity="warning"),)
MOVED = (Transfer(name="H2D", count=3, bytes=2048.0, seconds=1e-3),)
SLOWER = profiled(kernel("dot.1", 7.5e-3, 7.5e-3), FUSED)


def roof(flops: float | None, moved: float | None) -> Profile:
    """A kernel of 4 ms below peaks of 1 TFLOP/s and 1 TB/s."""
    peak = 1e12 if flops else None
    of = kernel("dot.1", 4e-3, 4e-3, flops=flops, bytes=moved, flops_per_second=peak)
    return profiled(of, bytes_per_second=1e12)


PROFILES: dict[str, tuple[Profile, dict[str, Any]]] = {
    **{f"by {by}": (FOUND, {"by": by}) for by in KEYS},
    "cut": (FOUND, {"by": "op", "most": 1}),
    "collectives": (profiled(DOT, FUSED, REDUCED), {}),
    "a function that calls itself": (
        profiled(kernel("dot.9", 1e-3, 1e-3, stacks=((0, 3, 1, 2),))),
        {"by": "function"},
    ),
    "one name in two programs": (
        profiled(DOT, kernel("dot.1", 1e-3, 1e-3, program="jit_init(2)")),
        {"by": "op"},
    ),
    "most has no line": (profiled(DOT, kernel("copy.1", 9e-3, 9e-3, stacks=((),))), {}),
    "a wait": (profiled(DOT, gaps=(gap(4e-3, host=HOST),)), {}),
    "a wait, disturbed": (profiled(DOT, gaps=(gap(4e-3),), notes=BUSY), {}),
    "no wait": (profiled(FULL, gaps=(gap(1e-6),)), {}),
    "compiles": (profiled(DOT, FUSED, compiles=COMPILED), {}),
    "dear to profile": (profiled(DOT, unprofiled_seconds=2e-3), {}),
    "cheap to profile": (profiled(DOT, unprofiled_seconds=9e-3), {}),
    "transfers": (profiled(DOT, transfers=MOVED), {}),
    "two devices": (profiled(DOT, devices=("cpu:0", "cpu:1")), {}),
    "below the memory": (profiled(DOT, bytes_per_second=8e8), {}),
    # Each kernel has the peak of what it multiplies.
    "two peaks": (profiled(SLOW, FAST), {"by": "category"}),
    # No kernel is far beyond its roof.
    **{
        f"{flops} FLOP, {moved} bytes": (roof(flops, moved), {"by": "op"})
        for flops, moved in (
            *((3.2e9, 1e6), (4.12e9, 1e6), (8e9, 1e6)),
            *((1e6, 3e9), (1e6, 8e9), (None, None)),
        )
    },
}


def text(report: Report) -> str:
    return terminal(report, 100, colour=False, full=True)


def reports() -> Iterator[str]:
    for name, (of, how) in PROFILES.items():
        yield f"== {name}: {judge.best_key(of)}"
        yield text(profile.report(of, **how))
    for width in (10, 60):
        yield from (part.markup for part in profile.step_bar(FOUND, width))


def files() -> Iterator[str]:
    yield f"== as a table\n{document.as_csv(FOUND, 'line')}"
    yield f"== as a flame\n{flame(FOUND)}"
    before, after = document.document(FOUND, ""), document.document(SLOWER, "")
    for by in get_args(By):
        yield f"== slower, by {by}"
        yield text(difference(before, after, by))


def test_what_a_profile_says_is_as_it_was() -> None:
    said = "\n".join([*reports(), *files()])
    lines = "".join(f"{line.rstrip()}\n" for line in said.splitlines())
    check_frozen(Path(__file__).with_name("reports.txt"), lines)


@pytest.mark.parametrize("by", KEYS)
def test_every_key_adds_up_to_the_busy_time(by: By) -> None:
    found = profiled(DOT, FUSED, REDUCED)
    rows = judge.rows(found, by)
    assert sum(row.seconds for row in rows) == pytest.approx(found.busy_seconds)
    seconds = [row.seconds for row in rows]
    assert seconds == sorted(seconds, reverse=True)


def test_a_line_takes_at_most_all_that_its_kernels_do() -> None:
    for row in judge.rows(profiled(DOT, FUSED), "line"):
        whole = sum({each.name: each.self_seconds for each in row.kernels}.values())
        assert row.most_seconds == pytest.approx(whole)
        assert (row.most_seconds > 1.001 * row.seconds) == row.shared


def test_a_line_stands_with_its_code(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("import jax\n    y = x @ w  \n")
    frames = (Frame(file=str(file), line=2, function="f"), *FRAMES[1:])
    assert "y = x @ w" in text(profile.report(profiled(DOT, frames=frames), "line"))
    whole = Frame(file="train.py", line=0, function="")
    found = profiled(DOT, frames=(whole, *FRAMES[1:]))
    assert "train.py:0" not in text(profile.report(found, "line"))
    for gone in (Frame(file=str(file), line=9, function="f"), FRAMES[0]):
        assert profile.code(gone) == ""
    # It is edited, and profiled again in the same app.
    file.write_text("import jax\n    y = x + w\n")
    os.utime(file, ns=(1, 1))
    assert profile.code(frames[0]) == "y = x + w"


def test_what_comes_from_outside_is_text_in_a_flame() -> None:
    frames = (Frame(file="<b>&.py", line=1, function="\x1b[2J<script>"), *FRAMES[1:])
    drawn = flame(profiled(DOT, frames=frames, source="a<b"))
    assert ElementTree.fromstring(drawn) is not None
    assert "\x1b" not in drawn


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (
            [Spent("a", 1.0), Spent("b", 2.0), Spent("b", 1.0)],
            [Spent("b", 1.0), Spent("c", 0.5)],
            [("b", -2.0, True), ("a", -1.0, True), ("c", 0.5, True)],
        ),
        # What may be chance comes last.
        (
            [Spent("steady", 1.0, 1e-4), Spent("shaky", 1.0, 0.25)],
            [Spent("steady", 1.5, 1e-4), Spent("shaky", 2.0, 0.25)],
            [("steady", 0.5, True), ("shaky", 1.0, False)],
        ),
    ],
)
def test_changes_are_ordered_by_their_size(
    before: list[Spent], after: list[Spent], changes: list[tuple[str, float, bool]]
) -> None:
    found = judge.changes(before, after)
    assert [(each.key, each.seconds, each.is_seen) for each in found] == changes


WRITTEN = encode(document.document(FOUND, ""))


def test_a_document_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    file.write_bytes(WRITTEN)
    assert document.read(file).rows == document.document(FOUND, "").rows


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
    for path in (file, tmp_path / "nothing.json"):
        with pytest.raises(SelectionError):
            document.read(path)
