"""Two measurements that were not taken in turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxtui.core.comparison import Comparison, Side, compare, compare_turns, pairs
from jaxtui.core.model import Processes, Remark, SourceCode
from jaxtui.features.bench.messages import Results, read
from jaxtui.ui.documents import encode
from tests.core.history.making import DEVICE, HOST, measurement


def side(label: str, median: float, width: float = 0.0001, **other: object) -> Side:
    return Side(
        label=label,
        host=HOST,
        device=DEVICE,
        measurement=measurement(median=median, width=width, **other),  # type: ignore
    )


@pytest.mark.parametrize(
    ("second", "width", "answer"),
    [
        (0.0010, 0.00001, "faster"),
        (0.0030, 0.00001, "slower"),
        (0.0020, 0.00001, "no difference"),
        (0.0021, 0.00020, "no difference"),
        (0.0022, 0.00001, "cannot tell"),
        (0.0018, 0.00001, "cannot tell"),
        (0.0030, 0.0007, "cannot tell"),
    ],
)
def test_whether_it_is_real(second: float, width: float, answer: str) -> None:
    found = compare(side("1", 0.002, 0.00001), side("2", second, width))
    assert found.answer == answer
    assert found.ratio == pytest.approx(second / 0.002)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= second / 0.002 <= found.high


def codes(found: Comparison) -> list[str]:
    return [remark.code for remark in found.remarks]


@pytest.mark.parametrize(
    ("other", "works"),
    [({"size": 512}, ("size",)), ({"op": "selu", "size": 512}, ("op", "size"))],
)
def test_two_works_are_not_comparable(
    other: dict[str, Any], works: tuple[str, ...]
) -> None:
    found = compare(side("1", 2.0), side("2", 0.001, **other))
    assert found.answer == "not comparable"
    assert found.remarks == (Remark("other-work", {"of": works}),)
    assert found.ratio == pytest.approx(0.0005)


@pytest.mark.parametrize(
    ("first", "second"), [(1.0, 5e-324), (5e-324, 1.0), (1e200, 1e-200)]
)
def test_times_beside_which_no_ratio_can_be_written(
    first: float, second: float
) -> None:
    found = compare(side("1", first, 0.0), side("2", second, 0.0))
    assert (found.answer, found.ratio) == ("cannot tell", None)
    assert codes(found) == ["no-ratio"]


def differing(found: Comparison) -> set[tuple[str, str | None, str | None]]:
    return {(each.name, each.first, each.second) for each in found.differences}


def test_what_differs_is_said() -> None:
    there = msgspec.structs.replace(HOST, hostname="tpu-vm", jax="0.10")
    first = side("1", 0.002)
    second = msgspec.structs.replace(side("2", 0.002, dtype="bfloat16"), host=there)
    assert differing(compare(first, second)) == {
        ("dtype", "float32", "bfloat16"),
        ("hostname", "box", "tpu-vm"),
        ("jax", "0.12", "0.10"),
    }
    assert compare(first, first).differences == ()


def test_without_samples_nothing_is_claimed() -> None:
    empty = msgspec.structs.replace(measurement(), ready=None)
    nothing = Side(label="1", host=HOST, device=None, measurement=empty)
    found = compare(nothing, side("2", 0.002))
    assert found.answer == "cannot tell"
    assert found.ratio is None


BUSY = Remark("contended", {"by": "processes", "used_cores": 1.9, "cores": 2})


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("code", ["one-round", "busy-side"])
def test_what_is_known_too_little_of_is_not_called_faster(
    which: int, code: str
) -> None:
    sides = [side("1", 0.001, 0.0), side("2", 0.003, 0.0)]
    measured = sides[which].measurement
    assert measured.ready is not None
    single = msgspec.structs.replace(measured.ready, rounds=1)
    changes: dict[str, Any] = (
        {"notes": (BUSY,)} if code == "busy-side" else {"ready": single}
    )
    measured = msgspec.structs.replace(measured, **changes)
    sides[which] = msgspec.structs.replace(sides[which], measurement=measured)
    found = compare(*sides)
    assert found.answer == "cannot tell"
    assert found.remarks == (Remark(code, {"side": sides[which].label}),)


def test_what_is_read_from_a_document_has_the_notes_of_its_run_again(
    tmp_path: Path,
) -> None:
    measured = msgspec.structs.replace(measurement(), notes=(BUSY,))
    results = Results.of(HOST, [measured], ())
    assert [note.flag for note in results.notes] == ["contended"]
    file = tmp_path / "bench.json"
    file.write_bytes(encode(results))
    _, (found,) = read(file)
    assert found.notes == (BUSY,)


def own(op: str, digest: str = "") -> Side:
    """A function of a file; without a digest as older versions kept it."""
    found = side("1", 0.002, op=op)
    source = SourceCode(digest=digest) if digest else msgspec.UNSET
    measured = msgspec.structs.replace(found.measurement, source=source)
    return msgspec.structs.replace(found, measurement=measured)


@pytest.mark.parametrize(
    ("second", "differences"),
    [
        (own("/a/train.py:step", "1"), ()),
        (own("/b/other.py:step", "1"), ()),
        (own("/b/train.py:step", "2"), (("source", "1", "2"),)),
        (own("/a/train.py:step"), (("source", "1", None),)),
        # Those are others.
        (own("/a/train.py:loss", "1"), None),
        (own("/b/other.py:step", "2"), None),
        (own("step", "1"), None),
    ],
)
def test_of_a_function_the_source_counts_and_not_where_it_lies(
    second: Side, differences: tuple[tuple[str, ...], ...] | None
) -> None:
    found = compare(own("/a/train.py:step", "1"), second)
    assert (found.answer == "not comparable") == (differences is None)
    if differences is not None:
        assert differing(found) == set(differences)
    # A source that neither has is not called the same.
    old = own("/a/train.py:step")
    assert codes(compare(old, old)) == ["no-source"]


def test_functions_of_two_working_trees_are_paired() -> None:
    here = [own("/a/train.py:step", "1"), side("1", 0.002), own("/a/x.py:f", "3")]
    there = [side("2", 0.001), own("/b/train.py:step", "2"), own("/c/x.py:f", "4")]
    there.append(own("/a/x.py:f", "3"))
    # A document may name a file without its folder: it has the name of another.
    here.append(own("y.py:f", "5"))
    there += [own("y.py:f", "5"), own("/c/y.py:f", "6")]
    ops = [
        (one.first.measurement.case.op, one.second.measurement.case.op)
        for one in pairs(here, there)
    ]
    assert ops == [
        ("/a/train.py:step", "/b/train.py:step"),
        ("matmul", "matmul"),
        ("/a/x.py:f", "/a/x.py:f"),
        ("y.py:f", "y.py:f"),
    ]


def in_processes(median: float, count: int) -> Side:
    found = side("", median, 0.00001)
    assert found.measurement.ready is not None
    ready = msgspec.structs.replace(found.measurement.ready, processes=count)
    several = Processes(n=count, medians=(median,) * count, low=median, high=median)
    measured = msgspec.structs.replace(
        found.measurement, ready=ready, processes=several
    )
    return msgspec.structs.replace(found, measurement=measured)


def after(median: float, *earlier: float) -> Side:
    return msgspec.structs.replace(side("", median, 0.0), earlier=earlier)


STEADY = (0.00099, 0.001, 0.00101) * 2
UNSTEADY = (0.0005, 0.0015)


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        # Its earlier runs differ by more than the ratio.
        (after(0.001, *UNSTEADY), after(0.0022), "cannot tell"),
        (after(0.001), after(0.0022, *UNSTEADY), "cannot tell"),
        (after(0.001), after(0.0045, *UNSTEADY), "slower"),
        (after(0.001), after(0.0002, *UNSTEADY), "faster"),
        # The spread of both is known, and the difference is beyond it.
        (after(0.001, *STEADY), after(0.00105, *STEADY), "slower"),
        (after(0.001, *STEADY), after(0.00101, *STEADY), "cannot tell"),
        (in_processes(0.001, 6), in_processes(0.00105, 6), "slower"),
        (in_processes(0.001, 6), after(0.00095, *STEADY), "faster"),
        # That of one is not, or too few processes say it.
        (after(0.001, *STEADY), after(0.00105), "cannot tell"),
        (in_processes(0.001, 6), in_processes(0.00105, 5), "cannot tell"),
        (after(0.001, 0.001), after(0.00105), "cannot tell"),
    ],
)
def test_a_difference_is_one_only_beyond_the_spread_between_processes(
    first: Side, second: Side, answer: str
) -> None:
    assert compare(first, second).answer == answer


@pytest.mark.parametrize(
    ("turns", "answer", "remarks"),
    [
        ([(1.0, 2.0)] * 6, "slower", []),
        ([(2.0, 1.0)] * 6, "faster", []),
        ([(1.0, 0.9), (1.0, 1.1)] * 3, "no difference", []),
        ([(1.0, 2.0)] * 5, "cannot tell", ["few-pairs"]),
        ([], "cannot tell", ["no-pairs"]),
    ],
)
def test_of_turns_the_pairs_decide(
    turns: list[tuple[float, float]], answer: str, remarks: list[str]
) -> None:
    found = compare_turns(side("A", 1.0), side("B", 1.0), turns)
    assert (found.answer, codes(found)) == (answer, remarks)
