"""Loops over functions of the user's own, on real JAX on CPU."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.measure import loops, planning, session
from jaxtui.measure.failures import RefusedError
from jaxtui.measure.loops import repeats, run_loop, subjects
from jaxtui.measure.workload import Workload
from jaxtui.model import (
    LOOP_STYLES,
    Case,
    Loop,
    LoopMeasured,
    LoopStyle,
    Progress,
    RunFinished,
    WorkFailed,
)

TRAIN = """
    import jax
    import jax.numpy as jnp
    import numpy as np


    def loss(params, x):
        return jnp.mean(jnp.tanh(x @ params["w"] + params["b"]) ** 2)


    def step(params, x):
        value, grads = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), {"loss": value}


    def step_args(size=300):
        rng = np.random.default_rng(0)
        params = {"w": rng.standard_normal((size, size), dtype=np.float32), "b": 0.5}
        return params, rng.standard_normal((64, size), dtype=np.float32)


    def square(x):
        return x @ x / 300


    def split(key):
        return jax.random.split(key)[0]


    def split_args():
        return (jax.random.key(0),)


    def broken(x):
        return x @ jnp.ones((3, 5))


    def leaves(x):
        raise SystemExit(3)


    def eagerly(x):
        donate(x)
        return x + 1


    donate = jax.jit(lambda x: x * 2, donate_argnums=0)
"""


@pytest.fixture(autouse=True)
def _briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "UNDISTURBED_SECONDS", 0.005)
    monkeypatch.setattr(loops, "REPEATS", 2)


@pytest.fixture
def train(tmp_path: Path) -> str:
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(TRAIN))
    return str(path)


def own_loop(path: str, name: str, args: str = "", **more: Any) -> Loop:
    mode = more.pop("mode", "jit")
    case = Case(
        op=f"{path}:{name}",
        size=0,
        dtype="",
        mode=mode,
        device="cpu:0",
        params={"args": args} if args else None,
    )
    return Loop(**({"case": case, "calls": 8, "budget_seconds": 4.0} | more))


def ended(asked: Loop) -> LoopMeasured | WorkFailed:
    *_, last, finished = run_loop(asked)
    assert isinstance(finished, RunFinished)
    assert isinstance(last, (LoopMeasured, WorkFailed)), last
    return last


def measured(asked: Loop) -> LoopMeasured:
    last = ended(asked)
    assert isinstance(last, LoopMeasured), last
    return last


def refused(asked: Loop) -> WorkFailed:
    last = ended(asked)
    assert isinstance(last, WorkFailed), last
    return last


@pytest.mark.parametrize("style", LOOP_STYLES)
@pytest.mark.parametrize("chained", [False, True])
def test_a_training_step_is_looped_in_every_style(
    train: str, style: LoopStyle, chained: bool
) -> None:
    asked = own_loop(train, "step", style=style, chained=chained)
    found = measured(asked)
    assert found.loop == asked
    assert len(found.calls) == 8
    for call in found.calls:
        assert 0 <= call.entered <= call.returned <= call.ready
    ready = [call.ready for call in found.calls]
    assert ready == sorted(ready)
    waits = style in ("each", "asarray", "print")
    assert all((call.waited is not None) is waits for call in found.calls[:-1])
    assert found.flops is not None
    assert "own" in [note.flag for note in found.notes]


@pytest.mark.parametrize("mode", ["jit", "eager"])
def test_an_array_that_fits_is_handed_on_itself(train: str, mode: str) -> None:
    asked = own_loop(train, "square", "f32[300,300]", chained=True, mode=mode)
    assert measured(asked).undisturbed.true_seconds > 0


@pytest.mark.parametrize("style", ["asarray", "print"])
def test_keys_of_jax_random_are_results_too(train: str, style: LoopStyle) -> None:
    assert measured(own_loop(train, "split", style=style, chained=True)).calls


def test_the_phases_are_told(train: str) -> None:
    events = run_loop(own_loop(train, "step"))
    told = [event.doing for event in events if isinstance(event, Progress)]
    phases = [text.partition(":")[0] for text in told]
    expected = ["import", "inputs", "trace", "lower", "compile"]
    assert [phase for phase in phases if phase in expected] == expected


# What is handed on.


def takes(result: Any, *args: Any) -> bool:
    """Whether the next call takes the first of several results."""
    asked = own_loop("/p/mine.py", "f", chained=True)
    made = Workload(case=asked.case, call=len, args=args)
    return repeats.of_own(asked, made, result).first


def test_what_fits_is_handed_on() -> None:
    x, other = jnp.ones((2, 3)), jnp.ones(3)
    assert not takes(x, x)
    assert takes((x, other), x)
    assert takes([x, other], x, other)
    assert not takes((x, other), (x, other))
    assert takes(((x, other), other), (x, other))
    assert takes(({"w": x}, other), {"w": x}, other)
    assert not takes(jax.random.key(1), jax.random.key(0))


@pytest.mark.parametrize(
    ("result", "args"),
    [
        (jnp.ones(3), (jnp.ones(4),)),
        (jnp.ones(3), (jnp.ones(3, jnp.int32),)),
        ((jnp.ones(3), jnp.ones(4)), (jnp.ones(4),)),
        ({"a": jnp.ones(4)}, (jnp.ones(4),)),
        ((), (jnp.ones(4),)),
        (jnp.ones(3), ()),
    ],
)
def test_what_does_not_fit_is_refused(result: Any, args: tuple[Any, ...]) -> None:
    with pytest.raises(RefusedError, match="f cannot be chained") as raised:
        takes(result, *args)
    assert "independent" in raised.value.failed.hint


def test_the_smallest_array_is_printed_from() -> None:
    asked = own_loop("/p/mine.py", "f")
    made = Workload(case=asked.case, call=len, args=())
    treated = repeats.of_own(asked, made, None)
    tree = ({"w": jnp.ones((3, 3))}, jnp.asarray(0.25))
    assert treated.pick(tree) == 0.25
    assert np.shape(treated.pick({"x": jnp.arange(6.0).reshape(2, 3)})) == ()


# What is refused, and what fails.


@pytest.mark.parametrize(
    ("name", "args", "more", "said"),
    [
        ("stpe", "", {}, "has no stpe"),
        ("square", "", {}, "nothing says what to give it"),
        ("loss", "f32[3,3]", {}, "train.py"),
        ("broken", "f32[3,3]", {"chained": True}, "cannot be chained"),
        ("broken", "f32[4,4]", {}, "(train.py:35)"),
        ("leaves", "f32[4]", {}, "sys.exit(3)"),
        ("eagerly", "f32[4]", {"mode": "eager"}, "train.py"),
        ("square", "f32[300,300]", {"budget_seconds": 1e-6}, "calls would take about"),
    ],
)
def test_what_goes_wrong_is_told_as_of_a_case(
    train: str, name: str, args: str, more: dict[str, Any], said: str
) -> None:
    failed = refused(own_loop(train, name, args, **more))
    assert said in failed.error
    assert failed.hint or failed.detail


def test_results_in_flight_count_as_memory(
    train: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = own_loop(train, "square", "f32[512,512]", calls=200)
    planned = subjects.plan(asked)
    enough_for_three = planned.memory_bytes + planned.host_memory_bytes + 2**20
    monkeypatch.setattr(planning, "available_host_bytes", lambda: enough_for_three)
    failed = refused(asked)
    known, _ = session.start(jax.devices()[0])
    assert f"{known.queue_depth + 2} results" in failed.error
