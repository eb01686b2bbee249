"""``jaxtui bench file.py:name`` with the real engine, and what such code may do."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxtui import cli
from jaxtui.engine.client import EngineClient, EngineOptions
from jaxtui.model import Case, CaseMeasured, Experiment, Ready, RunFinished

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
    return cli.main(["bench", *arguments, "--budget", "2", "--cpu-devices", "2"])


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


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that offers an op, a function and what cannot be loaded."""
    (tmp_path / "offering.py").write_text(
        textwrap.dedent(
            '''
            import dataclasses

            from jaxtui.measure.ops import OPS

            OP = dataclasses.replace(OPS["add"], summary="Add as we do it.")
            NUMBER = 3

            def step(x):
                """One step of ours."""
                return x * 2, x + 1

            def step_args(size=32):
                import numpy as np

                return (np.ones(size, np.float32),)
            '''
        )
    )
    info = tmp_path / "offering-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: offering\nVersion: 1\n"
    )
    (info / "entry_points.txt").write_text(
        "[jaxtui.ops]\n"
        "our-add = offering:OP\n"
        "our-step = offering:step\n"
        "broken = offering:missing\n"
        "number = offering:NUMBER\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("package")
def test_packages_offer_ops_that_are_timed_by_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["ops"]) == 0
    out = capsys.readouterr().out
    assert "Add as we do it." in out
    assert "One step of ours." in out
    assert "The package offering provides this op." in out
    assert re.search(r"broken .*offering.*AttributeError", out)
    assert re.search(r"number .*offering is a int", out)
    assert "matmul" in out
    assert bench("our-add:100", "our-step", "broken", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    by_name = {one["case"]["op"]: one for one in found["measurements"]}
    assert set(by_name) == {"our-add", "our-step"}
    assert 0 < by_name["our-add"]["error_vs_float64"] < 1e-6
    assert by_name["our-step"]["case"]["size"] == 32
    (failure,) = found["failures"]
    assert failure["code"] == "op-not-loaded"


@pytest.mark.usefixtures("package")
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
        for op in ("our-step", "add", "add", f"{path}:f", "add"):
            size, dtype = (100, "float32") if op == "add" else (0, "")
            case = Case(op=op, size=size, dtype=dtype, device="cpu:0", mode="jit")
            number = await engine.run(Experiment(cases=(case,), budget_seconds=0.5))
            async for envelope in events:
                if isinstance(envelope.event, CaseMeasured):
                    generations.append(envelope.generation)
                done = isinstance(envelope.event, RunFinished)
                if done and envelope.run == number:
                    break
    finally:
        await engine.close()
    # A file is imported before JAX starts, so that it has an engine of its own.
    assert generations == [1, 2, 2, 3, 4]
