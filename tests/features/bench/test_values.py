"""What a form means: its experiment, what is wrong with it, and it in a line."""

from __future__ import annotations

import shlex
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jaxtui.core import selection
from jaxtui.core.model import INPUTS, PRECISIONS, Case, Experiment, SelectionError
from jaxtui.features.bench import values
from jaxtui.features.bench.command import command
from jaxtui.features.bench.values import Values
from jaxtui.ui.app.state import EMPTY, State
from jaxtui.ui.commands.common import Common
from jaxtui.ui.commands.options import with_cases
from tests.fake_engine import HOST, OPS, cpu_devices
from tests.records import op

STATE: State = replace(
    EMPTY, engine="ready", host=HOST, devices=cpu_devices(2), ops=OPS
)
VALUES = Values(op="matmul", sizes="256..1024", devices=("cpu:0",))


REDUCE = Values(op="all_reduce", sizes="4096", devices=("cpu:0-1",), modes=("jit",))
SPREAD: State = replace(
    STATE,
    ops=(*OPS, op("all_reduce", "float32", modes=("jit",), collective=True)),
)


@pytest.mark.parametrize(
    ("change", "state", "runs", "problem", "words"),
    [
        ({}, STATE, True, False, "6 cases, about 14 s"),
        ({"sizes": "12..x"}, STATE, False, True, "12..x"),
        ({"sizes": ""}, STATE, True, False, "2 cases"),
        ({"sizes": "12/3.py"}, STATE, False, True, '"12/3.py" is not a size'),
        ({"op": "matmull"}, STATE, False, True, "Did you mean matmul?"),
        ({"op": "/no/train.py:step"}, STATE, False, True, "no file /no/train.py."),
        (
            {"op": f"{__file__}:f", "arguments": "f32"},
            STATE,
            False,
            True,
            '"f32" is not',
        ),
        ({"devices": ()}, STATE, False, True, "one device"),
        ({"dtypes": ()}, STATE, False, True, "one dtype"),
        ({"modes": ()}, STATE, False, True, "one mode"),
        ({"budget": "soon"}, STATE, False, True, '"soon" is not a time'),
        ({"processes": "5"}, STATE, True, False, "about 52 s plus 5 starts"),
        ({"processes": "0"}, STATE, False, True, '"0" is not a number of processes'),
        ({"processes": "x"}, STATE, False, True, '"x" is not a number of processes'),
        ({"dtypes": ("int8",)}, STATE, True, True, "doesn't run in int8"),
        ({}, EMPTY, False, False, "JAX is not ready yet."),
        ({}, replace(EMPTY, engine="failed"), False, True, "R tries again"),
        # A collective runs over a mesh.
        (REDUCE, SPREAD, True, False, "1 case"),
        (replace(REDUCE, mesh="1x2"), SPREAD, True, False, "1 case"),
        (replace(REDUCE, mesh="3x4"), SPREAD, True, True, "needs 12 devices"),
        (replace(REDUCE, mesh="1x2@q"), SPREAD, False, True, '"1x2@q" is not a mesh'),
        (
            replace(REDUCE, devices=("cpu:0",)),
            SPREAD,
            True,
            True,
            "at least two devices",
        ),
    ],
)
def test_what_a_form_means_or_what_is_wrong_with_it(
    change: Any, state: State, runs: bool, problem: bool, words: str
) -> None:
    form = change if isinstance(change, Values) else replace(VALUES, **change)
    meaning = values.interpret(form, state)
    assert (meaning.experiment is not None, meaning.problem) == (runs, problem)
    assert words in meaning.message


def test_functions_with_arguments_or_a_factory_are_an_experiment() -> None:
    def cases(function: str, **changed: Any) -> Any:
        form = Values(op=f"{__file__}:{function}", dtypes=(), devices=("cpu:0",))
        meaning = values.interpret(replace(form, modes=("jit",), **changed), STATE)
        assert meaning.experiment is not None
        return meaning.experiment.cases

    found = cases("scale,norm", arguments="f32[8, 8] bf16[]", sizes="64")
    assert [case.op for case in found] == [f"{__file__}:{x}" for x in ("scale", "norm")]
    assert {case.size for case in found} == {0}
    assert found[0].params == {"args": "f32[8,8] bf16[]"}
    assert [case.size for case in cases("scale", sizes="64,128")] == [64, 128]
    assert [case.size for case in cases("scale", sizes=" ")] == [0]


@pytest.mark.parametrize(
    "form",
    [
        VALUES,
        replace(VALUES, op="selu", sizes="64", modes=("eager",)),
        replace(VALUES, sizes="100,300,500", inputs=("host",), precisions=("highest",)),
        replace(REDUCE, mesh="1x2@y"),
    ],
)
def test_the_cases_of_a_run_give_the_form_that_says_them(form: Values) -> None:
    experiment = values.interpret(form, SPREAD).experiment
    assert experiment is not None
    found = values.of_cases(experiment.cases)
    again = values.interpret(found, SPREAD).experiment
    assert again is not None
    assert again.cases == experiment.cases
    assert found.mesh == form.mesh


@pytest.mark.parametrize(
    ("size", "dtype", "params"),
    [(64, "float32", None), (0, "bfloat16", {"args": "f32[8]"}), (0, "", None)],
)
def test_a_case_makes_the_round_trip(size: int, dtype: str, params: Any) -> None:
    facts = {"size": size, "dtype": dtype, "device": "cpu:1", "params": params}
    case = Case(op=f"{__file__}:step", mode="eager", **facts)
    verdict = values.interpret(values.of_case(case), STATE)
    assert verdict.experiment is not None
    (again,) = verdict.experiment.cases
    assert (again.op, again.size, again.params) == (case.op, size, params)
    assert (again.device, again.mode) == ("cpu:1", "eager")


@pytest.mark.parametrize(
    ("op", "size", "params", "words"),
    [
        ("/p/a.py:f", 0, None, "takes none"),
        ("/p/a.py:f", 0, {"args": "f32[8]"}, "were typed"),
        ("/p/a.py:f", 8, None, ""),
        ("selu", 8, None, ""),
    ],
)
def test_a_sweep_needs_sizes(op: str, size: int, params: Any, words: str) -> None:
    case = Case(op=op, size=size, dtype="", device="cpu:0", mode="jit", params=params)
    why = values.why_no_sweep(case)
    assert words in why
    assert bool(why) == bool(words)


OWN = f"{__file__}:scale,norm"
TYPED = {"op": OWN, "dtypes": (), "arguments": "f32[8, 8] f32[]", "mesh": "2"}
MORE = {"sizes": " ", "modes": ("jit",), "processes": "5", "inputs": ("host",)}


@pytest.mark.parametrize(
    ("change", "line", "summary"),
    [
        (
            {},
            "matmul:256..1024 --dtype f32 --mode numpy,jit --device cpu:0",
            "matmul:256..1024 · f32 · numpy,jit · cpu:0",
        ),
        (
            TYPED,
            f"{OWN} --arg 'f32[8, 8]' --arg 'f32[]' --mode numpy,jit --device cpu:0"
            " --mesh 2",
            "test_values.py:scale +1 · f32[8, 8] f32[] · numpy,jit · cpu:0 · mesh 2",
        ),
        (
            MORE,
            "matmul --dtype f32 --mode jit --device cpu:0 --inputs host --processes 5",
            "matmul · f32 · jit · cpu:0 · inputs host · processes 5",
        ),
    ],
)
def test_the_form_as_a_command_and_in_a_line(change, line: str, summary: str) -> None:
    form = replace(VALUES, **change)
    assert form.command == f"jaxtui bench {line}"
    assert form.summary == summary


def some(choices: Any) -> Any:
    return st.lists(st.sampled_from(choices), min_size=1, unique=True).map(tuple)


OF_OPS = st.builds(
    Values,
    op=st.sampled_from(["matmul", "selu", "all_reduce"]),
    sizes=st.sampled_from(["", "64", "256..1k", "1e4, 1e5", "100..900x1.41"]),
    dtypes=some(["float32", "bfloat16", "float8_e4m3fn"]),
    devices=some(["cpu:0", "cpu:1", "cpu:0-1"]),
    modes=some(["numpy", "eager", "jit", "pallas"]),
    inputs=some(INPUTS),
    precisions=st.sampled_from([PRECISIONS[:1], PRECISIONS[:2], PRECISIONS]),
    budget=st.sampled_from(["", "2.5", "30s"]),
    processes=st.sampled_from(["", "1", "5"]),
)
OF_FILES = st.builds(
    replace,
    OF_OPS,
    op=st.just(OWN),
    dtypes=st.just(()),
    devices=st.just(("cpu:0-1",)),
    modes=st.sampled_from([("jit",), ("numpy", "jit")]),
    precisions=st.just(("default",)),
    arguments=st.sampled_from(["", "f32[8,128] s32[]", "bf16[2, 2]"]),
    mesh=st.sampled_from(["", "2", "1x2"]),
)


def typed(line: str) -> Experiment:
    """What the command line makes of it."""
    _, _, *words = shlex.split(line)
    with command.make_context("bench", words, obj=Common()) as context:
        taken = with_cases(lambda *, cases, **_: cases)(**context.params)
    ops, devices = SPREAD.ops, SPREAD.devices
    chosen = selection.parse_devices(taken.device, devices)
    experiment: Experiment = taken.experiment(taken.choices(ops), chosen, ops, devices)
    return experiment


@given(OF_OPS | OF_FILES)
def test_the_command_runs_what_the_form_runs_or_both_refuse_it(form: Values) -> None:
    meaning = values.interpret(form, SPREAD)
    with suppress(SelectionError):
        assert typed(form.command) == meaning.experiment
        return
    # The form shows the rows of what cannot run.
    assert meaning.problem
    assert "at least two devices" in meaning.message


def test_a_mesh_needs_several_devices_and_an_op_that_can_use_them() -> None:
    assert values.takes_mesh("all_reduce", SPREAD)
    assert values.takes_mesh(OWN, SPREAD)
    assert not values.takes_mesh("matmul", SPREAD)
    assert not values.takes_mesh("all_reduce", replace(SPREAD, devices=cpu_devices(1)))
