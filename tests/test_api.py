"""The Python API: the measuring core in this process."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

import jaxtui
from jaxtui.core.engine.client import EngineUnavailableError
from jaxtui.core.history.store import History
from jaxtui.core.model import HOST, CollectiveRates, EngineFailed, SelectionError
from jaxtui.features.bench.messages import Results
from jaxtui.measurements import Measurements
from tests.fake_engine import FakeEngine
from tests.records import summary, told


@pytest.fixture(scope="module", autouse=True)
def _data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAXTUI_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="module")
def results(_data: None) -> Measurements:
    return jaxtui.bench(
        "matmul", size=[32, 64], mode=["jit", "numpy"], budget=0.5, samples=True
    )


def test_a_sequence_of_what_was_measured_in_this_process(results: Measurements) -> None:
    assert results.failures == ()
    cases = [(one.case.size, one.case.mode) for one in results]
    assert cases == [(32, "jit"), (32, "numpy"), (64, "jit"), (64, "numpy")]
    assert results[1].case.device == HOST
    assert results[:2] == results.measurements[:2]
    assert all(one.ready and one.ready.median > 0 for one in results)
    jit, numpy, *_ = results
    assert numpy.times_numpy is None
    assert jit.times_numpy is not None
    assert jit.times_numpy.low <= jit.times_numpy.median <= jit.times_numpy.high
    assert results.host is not None
    assert results.host.jax
    assert jaxtui.devices()[0].name
    assert "matmul" in {op.name for op in jaxtui.ops()}


def test_what_can_be_taken_away(results: Measurements) -> None:
    rows = list(csv.DictReader(io.StringIO(results.to_csv())))
    assert [row["size"] for row in rows] == ["32", "32", "64", "64"]
    assert results.to_markdown().startswith("**jit: ")
    document = msgspec.json.decode(results.to_json(), type=Results)
    assert document.measurements == results.measurements
    assert "samples" in json.loads(results.to_json())["measurements"][0]
    # In a notebook it is a table that passes no HTML.
    assert results._repr_markdown_().count("\n| ") == 6
    (case, *rest) = results._run.cases
    odd = msgspec.structs.replace(case.case, op="<script>&")
    cases = (msgspec.structs.replace(case, case=odd), *rest)
    run = msgspec.structs.replace(results._run, cases=cases)
    shown = Measurements(results._results, run)._repr_markdown_()
    assert "<script>" not in shown
    assert "&lt;script>&" in shown


def test_it_is_kept_in_the_history_and_noted_outside_of_earlier_intervals(
    results: Measurements,
) -> None:
    kept = History().count()
    assert kept == 4
    (first,) = jaxtui.bench("selu", size=3000, budget=0.5, history=False)
    assert History().count() == kept
    slow = msgspec.structs.replace(first, ready=summary(5.0))
    assert results.host is not None
    History().add([(results.host, jaxtui.devices()[0], slow, 1.0)])
    (again,) = jaxtui.bench("selu", size=3000, budget=0.5)
    assert again.has("earlier-runs")


def test_several_processes_are_engines_beside_this_one() -> None:
    kept = History().count()
    (found,) = jaxtui.bench("selu", size=100, budget=0.4, processes=2)
    assert found.processes is not None
    assert found.processes.n == 2
    assert History().count() == kept + 1


async def test_a_notebook_has_a_loop_and_an_engine_that_is_refused_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = EngineFailed(remark=told("The TPU is held.", "End it."))
    engine = FakeEngine(opening=(failed,))
    monkeypatch.setattr(jaxtui.api, "EngineClient", engine)
    with pytest.raises(EngineUnavailableError, match=r"The TPU is held\. End it\."):
        jaxtui.bench("selu", processes=2, history=False)
    assert "close" in engine.calls


def test_a_history_that_cannot_be_written_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "file" / "data"))
    with pytest.warns(UserWarning, match=str(tmp_path / "file")):
        found = jaxtui.bench("selu", size=100, budget=0.5)
    assert len(found) == 1


def test_lists_and_objects_of_jax_serve_everywhere() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = jaxtui.bench(
            ["selu", "matmul:16"],
            size=["64", 32.0],  # type: ignore[list-item]
            dtype=[jnp.bfloat16, "f32", jnp.zeros(1).dtype],
            device=jax.devices()[1],
            inputs=["device"],
            precision=["default"],
            budget=0.5,
            history=False,
        )
    cases = [one.case for one in found]
    assert {case.device for case in cases} == {"cpu:1"}
    assert {case.dtype for case in cases} == {"bfloat16", "float32"}
    sizes = {("selu", 64), ("selu", 32), ("matmul", 16)}
    assert {(case.op, case.size) for case in cases} == sizes


def test_functions_of_a_file_are_timed_and_a_case_without_a_result_is_a_failure(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import jax\njax.config.update('jax_default_matmul_precision', 'highest')\n"
        "def double(x):\n    return {'twice': x * 2}\n"
    )
    before = [*sys.path], {*sys.modules}, dict(jax.config.values)
    found = jaxtui.bench(
        *(f"{file}:double", "selu:64"),
        dtype="int32",
        args=["bf16[64]"],
        budget=0.3,
        history=False,
    )
    (measured,) = found
    assert (measured.case.op, measured.case.dtype) == (f"{file}:double", "bfloat16")
    (failure,) = found.failures
    assert "int32" in failure.error
    assert failure.error in repr(found)
    assert failure.error.split()[0] in found._repr_markdown_()
    after = [*sys.path], {*sys.modules}, dict(jax.config.values)
    assert {name for name in after[1] - before[1] if "mine" in name} == set()
    assert (before[0], before[2]) == (after[0], after[2])


def test_a_function_is_timed_with_its_arguments_and_they_are_left_alone() -> None:
    @functools.partial(jax.jit, donate_argnums=0, static_argnames="scale")
    def step(state: Any, x: Any, *, scale: int) -> Any:
        return {"w": state["w"] * scale + x}

    state, x = {"w": jnp.ones(64)}, np.ones(64, np.float32)
    bound = functools.partial(step, scale=2)
    (found,) = jaxtui.bench(
        bound, state, x, mode="jit", budget=0.3, history=False, target=0
    )
    assert found.case.op == f"{__file__}:step"
    assert {note.code for note in found.notes} >= {"donated", "warm-phases"}
    assert not state["w"].is_deleted()
    (plain,) = jaxtui.bench(lambda x: x @ x, jnp.ones((8, 8)), budget=0.3)
    assert plain.case.op == f"{__file__}:lambda"
    assert plain.phases.compile
    with pytest.raises(SelectionError, match="neither size, seed nor args"):
        jaxtui.bench(step, state, x, size=3)
    with pytest.raises(SelectionError, match="means nothing for"):
        jaxtui.bench(step, state, x, dtype="bfloat16")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ops": []}, 'There is no op ""'),
        ({"ops": ["matmull"]}, "Did you mean matmul"),
        ({"size": 0}, '"0" is not a size'),
        ({"size": []}, '"" is not a size'),
        ({"size": 1.5}, '"1.5" is not a size'),
        ({"mode": []}, 'no mode ""'),
        ({"dtype": None}, 'no dtype "None"'),
        ({"dtype": object}, "no dtype"),
        ({"device": "tpu:7"}, 'no device "tpu:7"'),
        ({"inputs": ["disk"]}, "place for inputs"),
        ({"budget": 0}, 'The budget "0" is not a time'),
        ({"target": 3}, "The target 3 is not a share"),
        ({"seed": -1}, "The seed -1"),
        ({"processes": 0}, '"0" is not a number of processes'),
    ],
)
def test_what_makes_no_sense_is_a_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SelectionError, match=re.escape(said)):
        jaxtui.bench(*given.pop("ops", ["matmul"]), **given)


def test_the_code_of_the_page_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jaxtui, "bench", functools.partial(jaxtui.bench, budget=0.5))
    text = (Path(__file__).parents[1] / ".github" / "METHOD.md").read_text(
        encoding="utf-8"
    )
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (code,) = [block for block in blocks if "jaxtui.bench" in block]
    names: dict[str, Any] = {}
    exec(code.replace("[256, 1024]", "[32, 64]"), names)
    assert len(names["results"]) == 4
    assert "matmul 32 float32 jit" in capsys.readouterr().out


def test_a_collective_runs_over_a_mesh() -> None:
    found = jaxtui.bench(
        "all_reduce", size=4096, mesh="2x2@y", budget=0.5, history=False
    )
    (measured,) = found
    assert measured.case.device == "cpu:0-3"
    assert isinstance(measured.collective, CollectiveRates)
    assert measured.collective.participants == 2
    with pytest.raises(SelectionError):
        jaxtui.bench("all_reduce", mesh="2y2", history=False)
