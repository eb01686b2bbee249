"""``jaxtui bench`` and ``jaxtui lie``: what they ask for and what they print."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from jaxtui import cli
from jaxtui.core.engine.client import EngineOptions
from jaxtui.core.model import Case, Event, Experiment, RunFinished
from tests.core.figures import crowded
from tests.fake_engine import FakeEngine, cpu_devices
from tests.records import op, summarize, summary, told
from tests.ui.commands.fakes import complete, one_fails, run

SIMULATE = "cpu:0 is one. `--cpu-devices 8` simulates eight."
FINISHED = RunFinished(outcome="complete", elapsed_seconds=1.0)


def test_bench_asks_for_every_combination(capsys) -> None:
    engine = FakeEngine(complete)
    code = run(
        engine,
        *("bench", "matmul:1k", "selu", "--size", "256..512", "--dtype", "f32,bf16"),
        *("--device", "cpu:1", "--mode", "jit,numpy", "--inputs", "host"),
        *("--precision", "highest", "--budget", "7", "--target", "1", "--seed", "3"),
    )
    assert code == 0
    (asked,) = engine.works
    assert len(asked.cases) == 4 + 8
    assert asked.cases[0] == Case(
        op="matmul",
        size=1024,
        dtype="float32",
        precision="highest",
        device="cpu:1",
        mode="jit",
        inputs="host",
    )
    assert (asked.budget, asked.target_half_width, asked.seed) == (7.0, 0.01, 3)
    assert "close" in engine.calls
    assert run(engine, "bench", "selu", "--processes", "0") == 64


def test_bench_defaults(capsys) -> None:
    engine = FakeEngine(complete)
    assert run(engine, "bench", "selu") == 0
    (asked,) = engine.works
    assert asked == Experiment(
        cases=(
            Case(op="selu", size=10**6, dtype="float32", device="cpu:0", mode="jit"),
        )
    )
    assert vars(engine.options) == vars(EngineOptions())


def test_samples_are_in_the_json_when_asked_for_and_nan_is_null(capsys) -> None:
    engine = FakeEngine(
        answer=lambda work: complete(work, error_vs_float64=float("nan"))
    )
    assert run(engine, "bench", "selu", "--json", "--samples") == 0
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    (measurement,) = document["measurements"]
    assert measurement["samples"] == {"ready": [1e-3], "dispatch": None}
    assert measurement["error_vs_float64"] is None


def test_bench_warns_of_what_keeps_it_from_the_accelerator(capsys) -> None:
    levels = ("error", "warning", "info")
    found = tuple(told(f"{level}!", severity=level) for level in levels)
    assert run(FakeEngine(complete, findings=found), "bench", "matmul:8", "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["measurements"]
    told_of = [f"{level}: {level}!" in err for level in levels]
    assert (told_of, "info!" in err) == ([True, True, False], False)


def test_several_processes_are_a_run_each_and_one_measurement(capsys) -> None:
    engine = FakeEngine(complete)
    code = run(engine, "bench", "selu", "--processes", "3", "--budget", "6", "--json")
    assert code == 0
    assert [one.share for one in engine.works] == [2.0] * 3
    (measurement,) = json.loads(capsys.readouterr().out)["measurements"]
    assert measurement["processes"]["n"] == 3
    assert len(measurement["processes"]["medians"]) == 3
    assert measurement["ready"]["confidence"] == 0.75


def test_a_process_that_is_lost_leaves_the_others_and_says_incomplete(capsys) -> None:
    def answer(work: Experiment) -> list[Event]:
        *events, _ = complete(work)
        crashed = RunFinished(outcome="crashed", elapsed_seconds=1.0)
        return [*events, FINISHED] if len(engine.works) < 3 else [events[0], crashed]

    engine = FakeEngine(answer)
    assert run(engine, "bench", "selu", "--processes", "5", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert not document["complete"]
    assert document["measurements"][0]["processes"]["n"] == 2


@pytest.mark.parametrize(
    ("devices", "arguments", "code", "why"),
    [
        (1, (), 3, SIMULATE),
        (1, ("--device", "all"), 64, SIMULATE),
        (2, ("--device", "cpu:1"), 64, "cpu:1 is one."),
        (2, ("--mesh", "2x1@y"), 64, "each group of the mesh 2x1@y has one."),
        # What can run does, and the other is a row.
        (1, ("selu",), 0, ""),
    ],
)
def test_collectives_on_one_device_are_refused_in_a_sentence(
    devices: int, arguments: Sequence[str], code: int, why: str, capsys
) -> None:
    known = op("all_reduce", "float32", collective=True), op("selu", "float32")
    engine = FakeEngine(complete, ops=known, devices=cpu_devices(devices))
    typed = ("bench", "all_reduce:1k..64k", *arguments, "--json")
    assert run(engine, *typed) == code
    out, err = capsys.readouterr()
    if code:
        assert (out, engine.works, err.count("\n")) == ("", [], 1)
        assert why in err


@pytest.mark.parametrize("plural", ["--sizes", "--dtypes", "--devices", "--modes"])
def test_a_plural_is_accepted_and_not_in_the_help(
    plural: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "selu", plural, "nonsense"]) == 64
    assert "nonsense" in capsys.readouterr().err
    assert cli.main(["bench", "--help"]) == 0
    assert plural not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("width", "busy", "end"),
    [
        (0.0, False, "off by 110×."),
        (0.0, True, "off by 110×."),
        (0.4, True, "off by 79–180×. Run it again on an idle machine."),
        (0.4, False, "off by 79–180×. Run it again."),
    ],
)
def test_notes_stand_below_its_lines_and_a_wide_factor_is_to_be_run_again(
    width: float, busy: bool, end: str, capsys
) -> None:
    def noted(experiment):
        clock = summary(1e-5, width)
        return complete(experiment, dispatch=clock, notes=(crowded(),) * busy)

    assert run(FakeEngine(noted), "lie") == 0
    out = capsys.readouterr().out
    notes = out.split("\n\n")[2]
    told = "busy machine  other programs took 1.5 of 2 cores\n"
    assert notes.startswith(told) == busy
    assert out.endswith(f"\n\nThe stopwatch is {end}\n")


def test_a_product_that_dispatch_hides_is_followed_by_a_larger_one() -> None:
    def small(experiment):
        dispatch = 1e-5 if experiment.cases[0].size > 1000 else 1e-4  # of 1 ms
        return complete(experiment, dispatch=summarize([[dispatch] * 3] * 8))

    engine = FakeEngine(small)
    assert run(engine, "lie") == 0
    first, second = engine.works
    assert second.cases[0].size == second.cases[1].size > first.cases[0].size
    assert run(engine, "lie", "matmul:100") == 0
    assert len(engine.works) == 3


def test_its_document_has_the_figures(capsys) -> None:
    engine = FakeEngine(lambda work: complete(work, flops=2.2e9))
    assert run(engine, "lie", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    names = ("stopwatch", "ready", "first_call")
    seconds = [found[f"{name}_seconds"] for name in names]
    assert seconds == pytest.approx([1e-5, 1.1e-3, 2e-3])
    assert found["factor"]["median"] == pytest.approx(110)
    assert found["repaid_calls"] is None
    assert len(found["measurements"]) == 2


@pytest.mark.parametrize(
    ("typed", "cases"),
    [
        ("selu", [("selu", 10**6, "jit"), ("selu", 10**6, "numpy")]),
        ("selu:4k", [("selu", 4096, "jit"), ("selu", 4096, "numpy")]),
        ("step.py:step", [("step.py:step", 0, "jit")]),
    ],
)
def test_another_op_is_asked_for_in_the_same_way(
    typed: str, cases: list[tuple[str, int, str]], tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.py").write_text("def step(x): return x")
    engine = FakeEngine(complete)
    assert run(engine, "lie", typed) == 0
    (asked,) = engine.works
    found = [(case.op.rpartition("/")[2], case.size, case.mode) for case in asked.cases]
    assert found == cases


@pytest.mark.parametrize("typed", ["selu,matmul", "selu:4,8", "nothing"])
def test_only_what_exists_can_lie_and_one_at_a_time(typed: str, capsys) -> None:
    assert run(FakeEngine(complete), "lie", typed) == 64
    assert capsys.readouterr().out == ""


def test_what_failed_is_said_and_the_code_is_1(capsys) -> None:
    assert run(FakeEngine(one_fails), "lie") == 1
    assert "No room. Go smaller." in capsys.readouterr().out
