"""``jaxtui crossover``: what it asks for, what it says, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from jaxtui import cli
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.model import Event, Experiment, RunFinished, RunStarted
from tests.analysis.figures import events
from tests.commands.fakes import OPS, UP, FakeEngine
from tests.processes import jaxtui as command


def machine(experiment: Experiment) -> Sequence[Event]:
    """NumPy 1 ns an element, jit 1 µs more and a fifth of that: they cross at 1250."""
    costs = {
        "numpy": lambda n: 1e-9 * n,
        "jit": lambda n: 1e-6 + 2e-10 * n,
        "eager": lambda n: 2e-6 + 2e-9 * n,
    }
    chosen = [costs[one.mode] for one in experiment.cases]
    return list(events(experiment, chosen, used=0.3))


def too_large(experiment: Experiment) -> Sequence[Event]:
    costs = [lambda n: 1e-9 * n] * 2
    return list(events(experiment, costs, too_large=1))


def search(fake: FakeEngine, *arguments: str) -> int:
    return cli.main(["crossover", *arguments], engine=fake)


def fake(answer=machine, opening: Sequence[Event] = UP) -> FakeEngine:
    return FakeEngine(opening, answer)


def test_it_closes_in_and_says_where(capsys) -> None:
    engine = fake()
    assert search(engine, "selu", "--sizes", "16..1M") == 0
    out, err = capsys.readouterr()
    sizes = [one.cases[0].size for one in engine.asked]
    assert sizes[:3] == [16, 64, 256]
    assert 1_048_576 in sizes
    assert all(
        {one.mode for one in asked.cases} == {"numpy", "jit"} for asked in engine.asked
    )
    assert out.startswith("selu, float32 numpy on host against float32 jit on cpu:0;")
    text = " ".join(out.split())
    assert "Per call, jit is faster from about 12" in text
    assert "Per call, arguments sent and result fetched each time, numpy is" in text
    assert "For one single call, compile included, numpy is faster at every" in text
    assert "The start of jit, compile and first transfer, pays after" in text
    head = out.splitlines()[3].split()
    assert head[:4] == ["size", "numpy", "jit", "numpy/jit"]
    # Progress is no result.
    assert err.splitlines()[0] == "16: numpy 16.0 ns, jit 1.00 µs; numpy is faster"
    assert engine.closed


def test_no_crossover_is_an_answer(capsys) -> None:
    code = search(fake(), "selu", "--between", "numpy,eager", "--sizes", "16..8k")
    out = " ".join(capsys.readouterr().out.split())
    assert code == 0
    assert "Per call, numpy is faster at every size from 16 to 8192: no" in out
    assert "no crossover up to 8192." in out
    assert "never pays" in out


def test_its_options_reach_the_engine(capsys) -> None:
    engine = fake()
    code = search(
        engine,
        *("matmul", "--between", "jit/bf16/highest,jit/cpu:1/host"),
        *("--sizes", "16..128x2", "--device", "cpu:0", "--seed", "7"),
    )
    assert code == 0
    first, second = engine.asked[0].cases
    assert (first.dtype, first.precision, first.device, first.inputs) == (
        "bfloat16",
        "highest",
        "cpu:0",
        "device",
    )
    assert (second.dtype, second.precision, second.device, second.inputs) == (
        "float32",
        "default",
        "cpu:1",
        "host",
    )
    assert [one.cases[0].size for one in engine.asked] == [16, 32, 64, 128]
    assert engine.asked[0].seed == 7


def test_the_default_range_goes_past_the_size_of_the_op(capsys) -> None:
    engine = fake()
    assert search(engine, "selu", "--between", "numpy,eager") == 0
    sizes = [one.cases[0].size for one in engine.asked]
    assert (sizes[0], sizes[-1]) == (16, 4096)


def test_a_size_that_the_op_does_not_have_is_refused(capsys) -> None:
    small = tuple(msgspec.structs.replace(op, minimum=32) for op in OPS)
    opening = [msgspec.structs.replace(one, ops=small) for one in UP]
    assert search(fake(opening=opening), "selu", "--sizes", "16..64") == 64
    assert "selu has no size 16; the smallest is 32." in capsys.readouterr().err


def test_where_nothing_can_be_measured_the_code_is_1(capsys) -> None:
    assert search(fake(too_large), "selu", "--sizes", "16..64") == 1
    out, _ = capsys.readouterr()
    assert "failed: selu 16 float32 numpy on host" in out
    assert "Per call: nothing was measured at both." in out


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_gives_what_had_arrived(capsys, as_json: bool) -> None:
    def third_is_stopped(experiment: Experiment) -> Sequence[Event]:
        if experiment.cases[0].size < 256:
            return machine(experiment)
        os.kill(os.getpid(), signal.SIGINT)
        return [RunStarted(cases=experiment.cases, budget_seconds=1.0)]

    engine = fake(third_is_stopped)
    flags = ("--json",) if as_json else ()
    assert search(engine, "selu", "--sizes", "16..1M", *flags) == 130
    out, err = capsys.readouterr()
    assert engine.stopped == 1
    assert err.endswith("Interrupted: this is what had arrived.\n")
    if as_json:
        document = json.loads(out)
        assert document["outcome"] == "cancelled"
        assert len(document["measurements"]) == 4
        return
    found = "Per call, numpy is faster at every size from 16 to 64"
    assert found in " ".join(out.split())
    assert "The search was interrupted" in out


def dies(experiment: Experiment) -> Sequence[Event]:
    """Twice at each size above 64, as the client tells it."""
    if experiment.cases[0].size <= 64:
        return machine(experiment)
    crashed = RunFinished(outcome="crashed", elapsed_seconds=1.0)
    return [RunStarted(cases=experiment.cases, budget_seconds=1.0), crashed]


@pytest.mark.parametrize("comes_back", [True, False])
def test_an_engine_that_is_lost_leaves_answers_and_1(capsys, comes_back: bool) -> None:
    engine = fake(dies)
    asked = engine.run

    async def refuses(experiment: Experiment) -> int:
        if experiment.cases[0].size > 64 and not comes_back:
            raise EngineUnavailableError("The TPU is held by process 7.")
        return await asked(experiment)

    engine.run = refuses  # type: ignore[method-assign]
    assert search(engine, "selu", "--sizes", "16..1M", "--json") == 1
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["outcome"] == "incomplete"
    assert [one["size"] for one in document["sizes"]] == [16, 64]
    assert "no crossover" not in "".join(one["sentence"] for one in document["answers"])
    assert ("held by process 7" in err) == (not comes_back)
    assert "Incomplete: the engine was lost on the way." in err


def test_it_is_written_to_files(capsys, tmp_path: Path) -> None:
    paths = [
        tmp_path / f"found{ending}"
        for ending in (".json", ".csv", ".md", ".svg", ".txt")
    ]
    exports = [part for path in paths for part in ("--export", str(path))]
    assert search(fake(), "selu", "--sizes", "16..1M", *exports) == 0
    document, csv, markdown, svg, text = (path.read_text() for path in paths)
    assert json.loads(document)["schema"] == 1
    assert csv.splitlines()[0].startswith("op,size,dtype")
    assert markdown.startswith("| op |")
    assert "<svg" in svg
    assert "beats" in svg
    assert "jit beats numpy from ~12" in text
    assert "jit with transfers" in text
    assert "Per call, jit is faster" in text


def test_a_real_search_between_two_sizes() -> None:
    done = command(
        *("crossover", "sum", "--between", "numpy,jit", "--sizes", "1000,4000"),
        *("--budget", "3", "--json", "--no-history"),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [one["size"] for one in document["sizes"]][:1] == [1000]
    modes = [one["case"]["mode"] for one in document["measurements"]]
    assert modes[:2] == ["numpy", "jit"]
    assert len(document["answers"]) == 4
    assert all(one["sentence"].endswith(".") for one in document["answers"])
    assert document["measurements"][1]["phases"]["compile"] > 0
