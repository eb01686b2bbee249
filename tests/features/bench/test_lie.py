"""``jaxtui lie``: the first minute as text."""

from __future__ import annotations

import json

import pytest

from tests.core.figures import crowded
from tests.fake_engine import FakeEngine
from tests.records import summarize, summary
from tests.ui.commands.fakes import complete, one_fails, run


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
