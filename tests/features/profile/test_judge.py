"""What a profile says: by every key, as a whole, and beside another one."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from jaxtui.core.model import Remark
from jaxtui.core.model.profile import Activity, Compile
from jaxtui.features.profile import judge as profile
from jaxtui.features.profile.judge import KEYS, By, Spent
from tests.records import gap, kernel, profiled

DOT = kernel("dot.1", 4e-3, 6e-3, flops=8e6, bytes=1e6, category="dot", count=2.0)
FUSED = kernel("fusion.2", 2e-3, 2e-3, stacks=((0, 1, 2), (3, 1, 2)))
REDUCED = kernel(
    "all-reduce.3", 1e-3, 1e-3, stacks=((),), kind="collective", hidden_seconds=3e-3
)
FOUND = profiled(DOT, FUSED, REDUCED)


@pytest.mark.parametrize("by", KEYS)
def test_every_key_adds_up_to_the_busy_time(by: By) -> None:
    rows = profile.rows(FOUND, by)
    assert sum(row.seconds for row in rows) == pytest.approx(FOUND.busy_seconds)
    assert [row.seconds for row in rows] == sorted(
        (row.seconds for row in rows), reverse=True
    )


def test_a_line_has_its_part_of_a_fusion_and_says_so() -> None:
    rows = {row.key: row for row in profile.rows(FOUND, "line")}
    assert rows["train.py:4"].seconds == pytest.approx(6e-3)
    assert rows["train.py:5"].seconds == pytest.approx(1e-3)
    assert rows["train.py:4"].shared
    assert rows["train.py:8"].seconds == 0.0
    assert rows["train.py:8"].total_seconds == pytest.approx(7e-3)
    assert rows[""].seconds == pytest.approx(1e-3)
    assert rows[""].total_seconds == pytest.approx(1e-3)


def test_a_function_includes_what_it_calls_once() -> None:
    again = kernel("dot.9", 1e-3, 1e-3, stacks=((0, 3, 1, 2),))
    rows = {row.key: row for row in profile.rows(profiled(again), "function")}
    dense = rows["train.py:dense"]
    assert (dense.seconds, dense.total_seconds) == pytest.approx((1e-3, 1e-3))
    assert rows["train.py:step"].total_seconds == pytest.approx(1e-3)


def test_equal_names_of_two_programs_are_two_ops() -> None:
    other = kernel("dot.1", 1e-3, 1e-3, program="jit_init(2)")
    keys = [row.key for row in profile.rows(profiled(DOT, other), "op")]
    assert keys == ["dot.1 jit_step(3)", "dot.1 jit_init(2)"]


def test_a_line_takes_at_most_all_that_its_kernels_do() -> None:
    rows = {row.key: row for row in profile.rows(profiled(DOT, FUSED), "line")}
    for row in rows.values():
        whole = sum({each.name: each.self_seconds for each in row.kernels}.values())
        assert row.most_seconds == pytest.approx(whole)
        assert (row.most_seconds > 1.001 * row.seconds) == row.shared


def test_lines_are_the_key_where_they_explain_most() -> None:
    bare = kernel("copy.1", 9e-3, 9e-3, stacks=((),), kind="copy")
    assert profile.best_key(FOUND) == "line"
    assert profile.best_key(profiled(DOT, bare)) == "op"


def test_a_step_consists_of_its_parts() -> None:
    parts = profile.parts(FOUND)
    assert parts.compute == pytest.approx(7e-3)
    assert (parts.exposed, parts.hidden) == pytest.approx((1e-3, 3e-3))
    assert parts.idle == pytest.approx(2e-3)


def test_the_headline_is_the_wait_or_the_dearest_line() -> None:
    host = (Activity(name="PjitFunction(loss)", seconds=1e-3),)
    waits = profile.headline(profiled(DOT, gaps=(gap(4e-3, host=host),)))
    assert waits.code == "device-waits"
    assert waits.facts["before"] == "dot.5"
    assert waits.facts["host"] == "PjitFunction(loss)"
    busy = (Remark("contended", severity="warning"),)
    others = profile.headline(profiled(DOT, gaps=(gap(4e-3),), notes=busy))
    assert (others.code, others.facts["disturbed"]) == ("device-works", True)
    full = kernel("dot.1", 10e-3, 10e-3)
    works = profile.headline(profiled(full, gaps=(gap(1e-6),)))
    assert (works.code, works.facts["row"]) == ("device-works", "train.py:4")
    assert works.facts["share"] == pytest.approx(1.0)


def test_what_qualifies_it_is_said() -> None:
    compiled = Compile(function="loss", seconds=0.2, compile_seconds=0.1)
    found = profiled(DOT, FUSED, unprofiled_seconds=9e-3, compiles=(compiled,))
    facts = {remark.code: remark.facts for remark in profile.remarks(found)}
    assert set(facts) == {"profile-cost", "lines-share", "compiled-inside"}
    assert facts["compiled-inside"]["functions"] == ("loss",)
    assert facts["profile-cost"]["plain_seconds"] == 9e-3
    for plain, severity in ((9e-3, "info"), (2e-3, "warning")):
        found = profiled(DOT, unprofiled_seconds=plain)
        (cost,) = [r for r in profile.remarks(found) if r.code == "profile-cost"]
        assert cost.severity == severity


def test_a_row_lies_under_the_nearer_roof() -> None:
    found = profiled(DOT, bytes_per_second=8e8)
    (row,) = profile.rows(found, "line")[:1]
    place = profile.place(row, found)
    assert place.flops_per_second == pytest.approx(2 * 8e6 / 5e-3)
    assert (place.share, place.limit) == (pytest.approx(0.5), "memory")
    assert profile.place(row, profiled(DOT)).share is None
    # Each kernel has the peak of what it multiplies.
    slow = replace(DOT, flops_per_second=4e9)
    fast = replace(DOT, name="dot.9", flops_per_second=16e9)
    (row,) = profile.rows(profiled(slow, fast), "category")
    place = profile.place(row, profiled(slow, fast))
    assert (place.share, place.limit) == (pytest.approx((0.8 + 0.2) / 2), "compute")
    moved = profile.rows(profiled(REDUCED, bytes_per_second=8e8), "op")[0]
    assert profile.place(moved, profiled(REDUCED)).share is None


def test_two_devices_have_twice_the_time() -> None:
    both = profiled(DOT, devices=("cpu:0", "cpu:1"))
    (row,) = profile.rows(both, "op")
    one = profile.place(profile.rows(profiled(DOT), "op")[0], profiled(DOT))
    two = profile.place(row, both)
    assert two.flops_per_second == pytest.approx((one.flops_per_second or 0) / 2)


def test_changes_are_ordered_by_their_size() -> None:
    before = [Spent("a", 1.0), Spent("b", 2.0), Spent("b", 1.0)]
    changes = profile.changes(before, [Spent("b", 1.0), Spent("c", 0.5)])
    assert [(each.key, each.seconds) for each in changes] == [
        ("b", -2.0),
        ("a", -1.0),
        ("c", 0.5),
    ]


def test_a_change_that_may_be_chance_comes_last() -> None:
    steady, shaky = Spent("steady", 1.0, 1e-4), Spent("shaky", 1.0, 0.25)
    after = [steady._replace(seconds=1.1), shaky._replace(seconds=1.9)]
    changes = profile.changes([steady, shaky], after)
    assert [(each.key, each.is_seen) for each in changes] == [
        ("steady", True),
        ("shaky", False),
    ]
