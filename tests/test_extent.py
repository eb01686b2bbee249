"""How much an experiment is: counted before it is made, said, and asked about."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator

import pexpect
import pytest

from jaxtui import selection
from jaxtui.model import Case, Experiment
from jaxtui.selection import MAXIMUM_CASES, OpChoice, SelectionError
from tests.commands.fakes import FakeEngine, complete, run
from tests.processes import FAKE_PYTHON, LIMIT_SECONDS
from tests.test_selection import CATALOGUE, DEVICES, build, device


def text(*ops: OpChoice, **options: object) -> str:
    return selection.extent(build(*ops, **options)).text


# Counting.


MATMUL, SELU = OpChoice("matmul"), OpChoice("selu")
THREE = ("float32", "float16", "bfloat16")
PAIR = ("jit", "eager")
EVERYWHERE = {"devices": ("tpu:0", "tpu:1"), "inputs": ("device", "host")}


@pytest.mark.parametrize(
    ("ops", "options", "said"),
    [
        ((), {}, "1 case, about 10 s"),
        ((), {"sizes": range(1, 41)}, "40 sizes = 40 cases, about 40 s"),
        (
            (MATMUL, SELU),
            {"sizes": range(1, 41), "dtypes": THREE, "modes": (*PAIR, "numpy")},
            "2 ops × 40 sizes × 3 dtypes × 3 modes = 720 cases, about 12 min",
        ),
        (
            (OpChoice("matmul", (1, 2, 3)), SELU),
            {"sizes": (5, 6), "modes": PAIR},
            "5 sizes of 2 ops × 2 modes = 10 cases, about 10 s",
        ),
        # NumPy runs once, whatever it is combined with.
        (
            (),
            {"sizes": range(100), "modes": ("jit", "numpy"), **EVERYWHERE},
            "100 sizes × 2 devices × 2 modes × 2 places for inputs = 800 combinations,"
            " 500 cases in all, about 8.33 min",
        ),
        (
            (),
            {"sizes": range(600), "modes": PAIR, "budget": 30.0},
            "600 sizes × 2 modes = 1,200 cases, about 30 s, 25 ms for each",
        ),
        (
            (),
            {"sizes": range(5000), "modes": PAIR},
            "5,000 sizes × 2 modes = 10,000 cases, about 2.8 h",
        ),
    ],
)
def test_what_multiplies_is_said(
    ops: tuple[OpChoice, ...], options: dict[str, object], said: str
) -> None:
    assert text(*ops, **options) == said


def test_ops_with_dtypes_of_their_own() -> None:
    cases = [
        Case(op="own", size=1, dtype="", device="cpu:0", mode="jit"),
        *(
            Case(op="add", size=size, dtype=dtype, device="cpu:0", mode="jit")
            for size in (1, 2)
            for dtype in ("float32", "float16")
        ),
    ]
    said = selection.extent(Experiment(cases=tuple(cases))).multiplied
    assert said == "5 pairs of size and dtype for 2 ops = 5 cases"


@pytest.mark.parametrize(
    ("count", "budget", "large"),
    [
        (100, None, False),
        (101, None, True),
        (101, 5.0, True),
        # Who has typed how long it may take need not be told.
        (1, 3600.0, False),
    ],
)
def test_what_is_asked_about(count: int, budget: float | None, large: bool) -> None:
    found = selection.extent(build(sizes=range(1, count + 1), budget=budget))
    assert found.is_large == large


def test_a_long_run_is_asked_about_whatever_it_consists_of() -> None:
    assert selection.Extent(cases=1, multiplied="1 case", seconds=301.0).is_large
    assert not selection.Extent(cases=1, multiplied="1 case", seconds=300.0).is_large


def test_what_explodes_is_refused_before_a_case_is_made() -> None:
    many = tuple(device(f"tpu:{number}") for number in range(64))
    tracemalloc.start()
    try:
        with pytest.raises(SelectionError) as refused:
            selection.build(
                (OpChoice("matmul"), OpChoice("selu")),
                tuple(range(1, 1001)),
                ("float64", "float32", "float16", "bfloat16"),
                [one.name for one in many],
                ("jit", "eager", "numpy"),
                ("device", "host"),
                ("default", "high", "highest"),
                catalogue=CATALOGUE,
                known_devices=many,
            )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert str(refused.value) == (
        "2 ops × 1,000 sizes × 4 dtypes × 3 precisions × 64 devices × 3 modes × "
        "2 places for inputs = 9,216,000 combinations, 4,104,000 cases in all: one run"
        " has at most 10,000; shorten a list."
    )
    assert peak < 5e6


def test_as_many_as_there_may_be() -> None:
    sizes = range(1, MAXIMUM_CASES + 1)
    assert len(build(sizes=sizes).cases) == MAXIMUM_CASES
    with pytest.raises(SelectionError, match="at most 10,000"):
        build(sizes=sizes, modes=("jit", "eager"))
    # Where NumPy repeats there is nothing to refuse, nor to wait for.
    devices = [f"tpu:{number}" for number in range(1000)]
    built = build(sizes=sizes, devices=devices, modes=("numpy",))
    assert len(built.cases) == MAXIMUM_CASES


def test_the_order_of_the_cases_is_that_of_the_lists() -> None:
    built = build(
        OpChoice("matmul"),
        OpChoice("selu", (7,)),
        sizes=(1, 2),
        dtypes=("float32", "float16"),
        devices=[one.name for one in DEVICES[:2]],
        modes=("numpy", "jit"),
    )
    assert [
        (case.op, case.size, case.dtype, case.mode, case.device)
        for case in built.cases[:4]
    ] == [
        ("matmul", 1, "float32", "numpy", "host"),
        ("matmul", 1, "float32", "jit", "tpu:0"),
        ("matmul", 1, "float32", "jit", "tpu:1"),
        ("matmul", 1, "float16", "numpy", "host"),
    ]
    assert built.cases[-1].op == "selu"
    assert len(built.cases) == 3 * 4 + 3 * 2


# The command.

MANY = ("bench", "selu", "--size", "1..1e6x1.05")


def test_without_a_terminal_a_long_run_needs_yes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = FakeEngine()
    assert run(engine, *MANY, "--json") == 64
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("jaxtui: 2")
    assert " sizes = 2" in err
    assert err.endswith(" min: add --yes if it is meant.\n")
    assert err.count("\n") == 1
    assert not engine.asked
    assert engine.closed


def test_yes_starts_it(capsys: pytest.CaptureFixture[str]) -> None:
    engine = FakeEngine()
    assert run(engine, *MANY, "--yes", "--no-history") == 0
    (asked,) = engine.asked
    assert len(asked.cases) > 200
    assert "add --yes" not in capsys.readouterr().err


def test_more_than_a_run_may_have_is_refused_even_with_yes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = FakeEngine()
    lists = ("--dtype", "f32,bf16", "--mode", "jit,eager,numpy", "--inputs")
    every = (*MANY, *lists, "device,host", "--device", "all")
    sizes = ("--size", "1..1e15x1.04")
    assert run(engine, *every, *sizes, "--yes") == 64
    err = capsys.readouterr().err
    assert "2 devices × 3 modes × 2 places for inputs = " in err
    assert "at most 10,000" in err
    assert not engine.asked


@pytest.fixture
def asked() -> Iterator[pexpect.spawn]:
    """The command in a terminal, at its question."""
    sizes = ",".join(map(str, range(1, 102)))
    few = ("quick", "--size", sizes, "--budget", "1", "--no-history")
    child = pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", "bench", *few, "--python", FAKE_PYTHON],
        encoding="utf-8",
        dimensions=(40, 200),
        timeout=LIMIT_SECONDS,
    )
    child.expect(r"101 sizes.* = \d+ cases.* Go on\?")
    yield child
    child.close(force=True)


def test_whatever_is_no_yes_measures_nothing(asked: pexpect.spawn) -> None:
    asked.send("\x04")
    asked.expect("Nothing was measured.")
    asked.expect(pexpect.EOF)
    asked.close()
    assert asked.exitstatus == 1


def test_yes_goes_on(asked: pexpect.spawn) -> None:
    asked.send("y\r")
    # What follows is a run like any other.
    asked.expect("quick +1 +float32")


def test_ctrl_c_at_the_question(asked: pexpect.spawn) -> None:
    asked.sendintr()
    asked.expect("Interrupted")
    asked.expect(pexpect.EOF)
    asked.close()
    assert asked.exitstatus == 130


def test_a_few_cases_are_not_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    engine = FakeEngine(answer=complete)
    assert run(engine, "bench", "selu", "--size", "1..1e6", "--no-history") == 0
    assert len(engine.asked[0].cases) == 21
