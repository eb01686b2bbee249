"""``jaxtui bench file.py:name`` with the real engine, and what such code may do."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from jaxtui import cli
from jaxtui.core.engine.client import EngineClient, EngineOptions
from jaxtui.core.model import Case, CaseMeasured, Experiment, Ready, RunFinished

TWO = """
    import jax
    import jax.numpy as jnp

    print("this file prints", flush=True)

    def step(params, x):
        loss = lambda p: jnp.mean((x @ p["w"]) ** 2)
        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - g, params, grads), value

    def forward(params, x):
        return x @ params["w"]

    def make_args(size=8):
        return {"w": jnp.ones((size, size))}, jnp.ones((4, size))
"""


def bench(*arguments: str) -> int:
    return cli.main(["bench", *arguments, "--budget", "0.5", "--cpu-devices", "2"])


def test_functions_of_one_file_against_each_other(
    write: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(TWO)
    assert bench(f"{path}:step,forward", "--size", "16", "--json") == 0
    made = json.loads(capsys.readouterr().out)["measurements"]
    assert [one["case"]["op"] for one in made] == [f"{path}:step", f"{path}:forward"]
    assert {one["case"]["size"] for one in made} == {16}
    assert {one["case"]["dtype"] for one in made} == {"float32"}
    assert made[1]["flops"] == 2 * 4 * 16 * 16
    assert made[0]["error_vs_float64"] is None


async def test_an_engine_that_ran_foreign_code_is_replaced_before_the_next_run(
    write: Callable[..., str],
) -> None:
    path = write(
        """
        import numpy as np

        np.random.default_rng = None

        def f(x):
            return x + 1

        def make_args():
            return (np.ones(8, np.float32),)
        """
    )
    engine = EngineClient(EngineOptions(cpu_devices=1))
    generations: list[int] = []
    try:
        await engine.start()
        events = engine.events()
        async for envelope in events:
            if isinstance(envelope.event, Ready):
                break
        for op in ("add", "add", f"{path}:f", "add"):
            size, dtype = (100, "float32") if op == "add" else (0, "")
            case = Case(op=op, size=size, dtype=dtype, device="cpu:0", mode="jit")
            number = await engine.run(Experiment(cases=(case,), budget_seconds=0.2))
            async for envelope in events:
                if isinstance(envelope.event, CaseMeasured):
                    generations.append(envelope.generation)
                done = isinstance(envelope.event, RunFinished)
                if done and envelope.run == number:
                    break
    finally:
        await engine.close()
    # A file is imported before JAX starts, so that it has an engine of its own.
    assert generations == [1, 1, 2, 3]
