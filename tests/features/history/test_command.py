"""``jaxtui history`` and ``jaxtui compare``, as people type them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxtui.core.history.store import History
from jaxtui.core.model import SelectionError
from jaxtui.features.bench.messages import Results
from jaxtui.features.history.command import moment
from jaxtui.ui.documents import encode
from tests.core.history.making import DEVICE, HOST, insert, measurement

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kept() -> list[int]:
    history = History()
    host = measurement("selu", 4096, mode="numpy", device="host")
    return [
        insert(history, HOST, DEVICE, measurement(size=256), at=1_000_000.0),
        insert(
            history, HOST, DEVICE, measurement(size=512, median=0.01), at=2_000_000.0
        ),
        insert(history, HOST, None, host, at=3_000_000.0),
    ]


def test_an_empty_history_says_how_to_fill_it(run: Run) -> None:
    code, out, _ = run("history")
    assert code == 0
    assert "history is empty" in out
    assert "history.db" in out


@pytest.mark.parametrize(
    ("typed", "which"),
    [
        ("", [2, 1, 0]),
        ("--limit 1", [2]),
        ("matmul 512", [1]),
        ("numpy box", [2]),
        ("cpu:0 box", [1, 0]),
        ("elsewhere", []),
        ("--since 1970-01-20 --until 1970-01-30", [1]),
    ],
)
def test_the_list_and_its_filters(
    run: Run, kept: list[int], typed: str, which: list[int]
) -> None:
    code, out, _ = run("history", *typed.split(), "--json")
    assert code == 0
    listed = [one["id"] for one in json.loads(out)["measurements"]]
    assert listed == [kept[one] for one in which]
    if not which:
        assert "No measurement matches" in run("history", *typed.split())[1]


def test_delete(run: Run, kept: list[int]) -> None:
    code, _, err = run("history", "selu", "--delete")
    assert code == 64
    assert "add --yes" in err
    assert History().count() == 3
    code, out, _ = run("history", "selu", "--delete", "--yes")
    assert code == 0
    assert out.startswith("Deleted 1 ")
    assert History().count() == 2


def test_moments() -> None:
    now = datetime(2026, 11, 21, 15, 30)
    day = datetime(2026, 11, 21)
    assert moment("2d", now) == datetime(2026, 11, 19, 15, 30).timestamp()
    assert moment("2026-11-21", now) == day.timestamp()
    with pytest.raises(SelectionError):
        moment("3 fortnights", now)


def written(path: Path, *ones: Any) -> Path:
    results = Results(host=HOST, measurements=ones, failures=())
    path.write_bytes(encode(results))
    return path


def test_what_has_no_case_in_common_is_refused(run: Run, tmp_path: Path) -> None:
    files = [
        written(tmp_path / name, measurement(size=size), measurement(size=size + 1))
        for name, size in (("a.json", 4), ("b.json", 6))
    ]
    code, out, err = run("compare", *files)
    assert (code, out) == (64, "")
    assert all(file.name in err for file in files)


def test_what_differs_by_less_than_the_runs_before_is_no_difference(
    run: Run, tmp_path: Path
) -> None:
    history = History()
    medians = (0.001, 0.004, 0.002, 0.005)
    numbers = [
        insert(history, HOST, DEVICE, measurement(median=one, width=1e-5), at=float(at))
        for at, one in enumerate(medians)
    ]
    # Of the first pair the second has one run before, of the other one two or three.
    for first, second, answer in ((0, 1, "slower"), (2, 3, "cannot tell")):
        code, out, _ = run("compare", numbers[first], numbers[second], "--json")
        (pair,) = json.loads(out)["pairs"]
        assert (code, pair["comparison"]["answer"]) == (0, answer)
    # A document has no time: what the history has of its case counts, but for itself.
    file = written(tmp_path / "a.json", measurement(median=0.005, width=1e-5))
    _, out, _ = run("compare", numbers[0], file, "--json")
    (pair,) = json.loads(out)["pairs"]
    assert sorted(pair["second"]["earlier"]) == [0.001, 0.002, 0.004]
    # What was measured with other versions says nothing.
    other = msgspec.structs.replace(HOST, jax="0.13")
    upgraded = insert(
        history, other, DEVICE, measurement(median=0.02, width=1e-5), at=9.0
    )
    _, out, _ = run("compare", numbers[0], upgraded, "--json")
    (pair,) = json.loads(out)["pairs"]
    assert (pair["comparison"]["answer"], pair["second"]["earlier"]) == ("slower", [])


@pytest.mark.parametrize(
    ("before", "after", "code", "sign", "said"),
    [
        ((0.001, 0.001), (0.001, 0.001), 0, "✓", "B.json is not slower than A.json"),
        ((0.001, 0.001), (0.0005, 0.001), 0, "✓", "faster in 1 of 2 cases"),
        # By 3 %, which two runs differ by anyhow, and which may be.
        ((0.001, 0.001), (0.00103, 0.001), 0, "✓", "not slower"),
        ((0.001, 0.001), (0.001, 0.002), 4, "✗", "by more than 5 %: matmul 512 jit."),
        # Two runs may differ by so much without a cause.
        ((0.001, 0.001), (0.0011, 0.001), 5, "?", "Cannot tell whether B.json is "),
        # What failed in the second run is no success.
        ((0.001, 0.001), (0.001,), 5, "?", "matmul 512 float32 jit on cpu:0."),
        ((0.001,), (0.002,), 4, "✗", "**matmul 256 float32 jit on cpu:0**: "),
    ],
)
def test_a_pull_request_that_makes_something_slower_fails(
    run: Run,
    tmp_path: Path,
    before: tuple[float, ...],
    after: tuple[float, ...],
    code: int,
    sign: str,
    said: str,
) -> None:
    files = [
        written(
            tmp_path / name,
            *(
                measurement(size=size, median=seconds, width=1e-6)
                for size, seconds in zip((256, 512), medians, strict=False)
            ),
        )
        for name, medians in (("A.json", before), ("B.json", after))
    ]
    gate = ("compare", *files, "--fail-if-slower", "5%")
    found, out, _ = run(*gate, "--markdown")
    line, end = out.split("\n")
    assert (found, line[:2], end) == (code, f"{sign} ", "")
    assert said in line
    found, out, _ = run(*gate)
    assert found == code
    assert "by more than 5 %" in out
    assert run("compare", *files)[0] == 0
