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


FAILED = replace(EMPTY, engine="failed")
OWN = f"{__file__}:scale,norm"
MINE = replace(VALUES, op=OWN, dtypes=(), modes=("jit",))
SPECS = "f32[8, 8] bf16[]"

FORMS: list[tuple[Values, State]] = [
    (VALUES, STATE),
    (replace(VALUES, sizes="12..x"), STATE),
    (replace(VALUES, sizes=""), STATE),
    (replace(VALUES, sizes="12/3.py"), STATE),
    (replace(VALUES, op="matmull"), STATE),
    (replace(VALUES, op="/no/train.py:step"), STATE),
    (replace(VALUES, devices=()), STATE),
    (replace(VALUES, dtypes=()), STATE),
    (replace(VALUES, modes=()), STATE),
    (replace(VALUES, budget="soon"), STATE),
    (replace(VALUES, processes="5", inputs=("host",), modes=("jit",)), STATE),
    (replace(VALUES, processes="0"), STATE),
    (replace(VALUES, processes="x"), STATE),
    (replace(VALUES, dtypes=("int8",)), STATE),
    (VALUES, EMPTY),
    (VALUES, FAILED),
    # A collective runs over a mesh.
    (REDUCE, SPREAD),
    (replace(REDUCE, mesh="1x2"), SPREAD),
    (replace(REDUCE, mesh="3x4"), SPREAD),
    (replace(REDUCE, mesh="1x2@q"), SPREAD),
    (replace(REDUCE, devices=("cpu:0",)), SPREAD),
    # Functions have arguments or a factory.
    (replace(MINE, arguments=SPECS, sizes="64"), STATE),
    (replace(MINE, arguments=SPECS, mesh="2"), STATE),
    (replace(MINE, arguments="f32"), STATE),
    (replace(MINE, sizes="64,128"), STATE),
    (replace(MINE, sizes=" "), STATE),
]
FILE: dict[str, Any] = {
    "op": "/p/a.py:f",
    "dtype": "",
    "device": "cpu:0",
    "mode": "jit",
}
NO_SWEEP = [
    Case(size=0, **FILE),
    Case(size=0, params={"args": "f32[8]"}, **FILE),
    Case(size=8, **FILE),
    Case(size=8, **FILE | {"op": "selu"}),
]


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
