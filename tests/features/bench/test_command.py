"""``jaxtui bench`` and ``jaxtui lie``: what they ask for and what they print."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jaxtui.core.engine.client import EngineOptions
from jaxtui.core.model import Event, Experiment, RunFinished, Severity
from tests.core.figures import crowded
from tests.fake_engine import FakeEngine
from tests.records import summarize, summary, told
from tests.ui.commands.fakes import complete, run

FINISHED = RunFinished(outcome="complete", elapsed_seconds=1.0)


def test_samples_are_in_the_json_when_asked_for_and_nan_is_null(
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = FakeEngine(
        answer=lambda work: complete(work, error_vs_float64=float("nan"))
    )
    assert run(engine, "bench", "selu", "--json", "--samples") == 0
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    (measurement,) = document["measurements"]
    assert measurement["samples"] == {"ready": [1e-3], "dispatch": None}
    assert measurement["error_vs_float64"] is None
    assert vars(engine.options) == vars(EngineOptions())


def test_bench_warns_of_what_keeps_it_from_the_accelerator(
    capsys: pytest.CaptureFixture[str],
) -> None:
    levels: tuple[Severity, ...] = ("error", "warning", "info")
    found = tuple(told(f"{level}!", severity=level) for level in levels)
    assert run(FakeEngine(complete, findings=found), "bench", "matmul:8", "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["measurements"]
    told_of = [f"{level}: {level}!" in err for level in levels]
    assert (told_of, "info!" in err) == ([True, True, False], False)


def test_several_processes_are_a_run_each_and_one_measurement(
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = FakeEngine(complete)
    code = run(engine, "bench", "selu", "--processes", "3", "--budget", "6", "--json")
    assert code == 0
    assert [one.share for one in engine.works] == [2.0] * 3
    (measurement,) = json.loads(capsys.readouterr().out)["measurements"]
    assert measurement["processes"]["n"] == 3
    assert len(measurement["processes"]["medians"]) == 3
    assert measurement["ready"]["confidence"] == 0.75


def test_a_process_that_is_lost_leaves_the_others_and_says_incomplete(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def answer(work: Experiment) -> list[Event]:
        *events, _ = complete(work)
        crashed = RunFinished(outcome="crashed", elapsed_seconds=1.0)
        return [*events, FINISHED] if len(engine.works) < 3 else [events[0], crashed]

    engine = FakeEngine(answer)
    assert run(engine, "bench", "selu", "--processes", "5", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert not document["complete"]
    assert document["measurements"][0]["processes"]["n"] == 2


# The first minute.


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
    width: float, busy: bool, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def noted(experiment: Any) -> Any:
        clock = summary(1e-5, width)
        return complete(experiment, dispatch=clock, notes=(crowded(),) * busy)

    assert run(FakeEngine(noted), "lie") == 0
    out = capsys.readouterr().out
    notes = out.split("\n\n")[2]
    told = "busy machine  other programs took 1.5 of 2 cores\n"
    assert notes.startswith(told) == busy
    assert out.endswith(f"\n\nThe stopwatch is {end}\n")


def test_a_product_that_dispatch_hides_is_followed_by_a_larger_one() -> None:
    def small(experiment: Any) -> Any:
        dispatch = 1e-5 if experiment.cases[0].size > 1000 else 1e-4  # of 1 ms
        return complete(experiment, dispatch=summarize([[dispatch] * 3] * 8))

    engine = FakeEngine(small)
    assert run(engine, "lie") == 0
    first, second = engine.works
    assert second.cases[0].size == second.cases[1].size > first.cases[0].size
    assert run(engine, "lie", "matmul:100") == 0
    assert len(engine.works) == 3


def test_its_document_has_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    engine = FakeEngine(lambda work: complete(work, flops=2.2e9))
    assert run(engine, "lie", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    names = ("stopwatch", "ready", "first_call")
    seconds = [found[f"{name}_seconds"] for name in names]
    assert seconds == pytest.approx([1e-5, 1.1e-3, 2e-3])
    assert found["factor"]["median"] == pytest.approx(110)
    assert found["repaid_calls"] is None
    assert len(found["measurements"]) == 2
