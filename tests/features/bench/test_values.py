"""What a form means: its experiment, what is wrong with it, and it in a line."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from jaxtui.features.bench import values
from jaxtui.features.bench.values import Values
from jaxtui.ui.app.state import EMPTY, State
from tests.fake_engine import HOST, OPS, cpu_devices
from tests.records import op

STATE: State = replace(
    EMPTY, engine="ready", host=HOST, devices=cpu_devices(2), ops=OPS
)
VALUES = Values(op="matmul", sizes="256..1024", devices=("cpu:0",))


@pytest.mark.parametrize(
    ("change", "state", "runs", "problem", "words"),
    [
        ({}, STATE, True, False, "6 cases, about 14 s"),
        ({"sizes": "12..x"}, STATE, False, True, "12..x"),
        ({"sizes": ""}, STATE, False, True, "is not a size"),
        ({"dtypes": ()}, STATE, False, True, "one dtype"),
        ({"modes": ()}, STATE, False, True, "one mode"),
        ({"budget": "soon"}, STATE, False, True, '"soon" is not a time'),
        ({"processes": "5"}, STATE, True, False, "about 52 s plus 5 starts"),
        ({"processes": "0"}, STATE, False, True, '"0" is not a number of processes'),
        ({"processes": "x"}, STATE, False, True, '"x" is not a number of processes'),
        ({"dtypes": ("int8",)}, STATE, True, True, "doesn't run in int8"),
        ({}, EMPTY, False, False, "JAX is not ready yet."),
        ({}, replace(EMPTY, engine="failed"), False, True, "R tries again"),
    ],
)
def test_what_a_form_means_or_what_is_wrong_with_it(
    change: dict[str, Any], state: State, runs: bool, problem: bool, words: str
) -> None:
    meaning = values.interpret(replace(VALUES, **change), state)
    assert (meaning.experiment is not None, meaning.problem) == (runs, problem)
    assert words in meaning.message


def test_several_ops_have_what_all_of_them_have() -> None:
    first, second = STATE.ops[:2]
    dtypes, modes = values.shared([first.name, second.name], STATE)
    assert set(dtypes) == set(first.dtypes) & set(second.dtypes)
    assert set(modes) == set(first.modes) & set(second.modes)
    assert values.shared(["nothing"], STATE) == ([], [])


@pytest.mark.parametrize(
    "form",
    [
        VALUES,
        replace(VALUES, others=("selu",), sizes="64", modes=("eager",)),
        replace(VALUES, sizes="100,300,500", inputs=("host",), precisions=("highest",)),
    ],
)
def test_the_cases_of_a_run_give_the_form_that_says_them(form: Values) -> None:
    experiment = values.interpret(form, STATE).experiment
    assert experiment is not None
    found = values.of_cases(experiment.cases)
    again = values.interpret(found, STATE).experiment
    assert again is not None
    assert again.cases == experiment.cases


@pytest.mark.parametrize(
    ("change", "summary"),
    [
        ({}, "matmul · 256..1024 · float32 · jit, numpy · cpu:0"),
        (
            {"others": ("selu",), "inputs": ("host",), "precisions": ("high",)},
            "matmul, selu · 256..1024 · float32 · jit, numpy · cpu:0 · inputs on the "
            "host · precision high",
        ),
        (
            {"processes": "5", "modes": ("jit",)},
            "matmul · 256..1024 · float32 · jit · cpu:0 · 5 processes",
        ),
        (
            {"op": "/a/b/mine.py:f", "arguments": "f32[8]", "modes": ("jit",)},
            "mine.py:f · f32[8] · jit · cpu:0",
        ),
    ],
)
def test_the_folded_form_says_what_it_means(
    change: dict[str, Any], summary: str
) -> None:
    assert replace(VALUES, **change).summary == summary


REDUCE = Values(op="all_reduce", sizes="4096", devices=("cpu:0-1",), modes=("jit",))
SPREAD: State = replace(
    STATE,
    ops=(*OPS, op("all_reduce", "float32", modes=("jit",), collective=True)),
)


@pytest.mark.parametrize(
    ("change", "runs", "problem", "words"),
    [
        ({}, True, False, "1 case"),
        ({"mesh": "1x2"}, True, False, "1 case"),
        ({"mesh": "3x4"}, True, True, "needs 12 devices"),
        ({"mesh": "1x2@q"}, False, True, '"1x2@q" is not a mesh'),
        ({"devices": ("cpu:0",)}, True, True, "at least two devices"),
    ],
)
def test_a_collective_runs_over_a_mesh(change, runs, problem, words) -> None:
    meaning = values.interpret(replace(REDUCE, **change), SPREAD)
    assert (meaning.experiment is not None, meaning.problem) == (runs, problem)
    assert words in meaning.message


def test_a_run_over_a_mesh_fills_the_form_with_it() -> None:
    form = replace(REDUCE, mesh="1x2@y")
    experiment = values.interpret(form, SPREAD).experiment
    assert experiment is not None
    assert values.of_cases(experiment.cases) == form
    assert "mesh 1x2@y" in form.summary


def test_a_mesh_means_nothing_where_nothing_runs_over_one() -> None:
    meaning = values.interpret(replace(VALUES, mesh="3x4"), SPREAD)
    assert meaning.experiment is not None
    assert not any(case.params for case in meaning.experiment.cases)
    alone = replace(SPREAD, devices=cpu_devices(1))
    assert not values.takes_mesh(REDUCE, alone)
