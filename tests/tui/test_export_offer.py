"""What the tabs have to export, and which file is meant: no screen, no engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from jaxtui.document import Results, encode
from jaxtui.engine.protocol import Envelope
from jaxtui.export import DARK, ExportError
from jaxtui.model import Case, Event, Experiment, Plan, RunFinished, RunStarted
from jaxtui.state import begun, reduce
from jaxtui.tui import offers
from jaxtui.tui.offers import (
    Format,
    Offer,
    at_once,
    not_offered,
    renamed,
    target,
)
from jaxtui.tui.state import EMPTY, State
from jaxtui.view.bench import collect
from tests.tui.fake_engine import HOST, cpu_devices, sampled

HERE = Path("/here")
CASES = (
    Case(op="selu", size=64, dtype="float32", device="cpu:0", mode="jit"),
    Case(op="selu", size=64, dtype="float32", device="host", mode="numpy"),
)


def made(ending: str, stem: str = "run-1") -> Format:
    return Format(ending=ending, holds="", stem=stem, content=at_once(lambda: "text"))


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("a.json", "/here/a.json"),
        ("a", "/here/a.json"),
        ("v1.2", "/here/v1.2.json"),
        ("a.CSV", "/here/a.CSV"),
        (" a.json ", "/here/a.json"),
        ("/there/a", "/there/a.json"),
        ("sub/", "/here/sub/run-1.json"),
        ("..", "/here/../run-1.json"),
        ("~/a.json", "/home/ada/a.json"),
        ("~", "/home/ada/run-1.json"),
        ("", None),
        ("  ", None),
    ],
)
def test_the_file_that_is_meant(
    typed: str, path: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    meant = target(typed, made(".json"), HERE)
    assert meant == (None if path is None else Path(path))


@pytest.mark.parametrize(
    ("typed", "new"),
    [("a.csv", "a.svg"), ("a.b.TXT", "a.b.svg"), ("a", "a"), ("a.b", "a.b"), ("", "")],
)
def test_the_ending_follows_the_format(typed: str, new: str) -> None:
    assert renamed(typed, ".svg") == new


def test_an_ending_that_nothing_here_has_is_refused() -> None:
    formats = (made(".json"), made(".py"), made(".py"))
    assert not_offered(Path("a.PY"), formats) == ""
    said = not_offered(Path("a.svg"), formats)
    assert said == "There is no .svg of this: .json, .py can be written."


def after(*events: Event) -> State:
    state = replace(EMPTY, engine="ready", host=HOST, devices=cpu_devices())
    state = begun(state, 1, "bench", Experiment(cases=CASES))
    for event in events:
        state = reduce(state, Envelope(generation=0, run=1, event=event))
    return state


async def no_plan(experiment: Experiment) -> Plan:
    raise ExportError("JAX is not there.")


def offered(state: State) -> Offer:
    assert state.run is not None
    return offers.of_run(state, state.run, None, DARK, no_plan)


def content(offer: Offer, ending: str) -> str:
    found = next(one for one in offer.formats if one.ending == ending)
    return asyncio.run(found.content())  # type: ignore[arg-type]


def started() -> RunStarted:
    return RunStarted(cases=CASES, budget_seconds=1.0)


def test_of_a_run_that_goes_on_there_is_what_has_arrived() -> None:
    state = after(started(), sampled(0, CASES[0], 0))
    assert offered(state).what == "selu, 2 cases, what has arrived so far"
    kept = msgspec.json.decode(content(offered(state), ".json"), type=Results)
    assert [one.case for one in kept.measurements] == [CASES[0]]
    assert kept.failures == ()


def test_of_a_run_that_was_ended_there_is_what_the_command_prints() -> None:
    finished = RunFinished(outcome="cancelled", elapsed_seconds=1.0)
    state = after(started(), sampled(0, CASES[0], 0), finished)
    assert offered(state).what == "selu, 2 cases"
    printed = encode(collect(HOST, CASES, state.run)).decode()
    assert content(offered(state), ".json") == printed
    assert [one["case"]["mode"] for one in json.loads(printed)["failures"]] == ["numpy"]


def test_without_a_plot_the_picture_is_the_table_and_says_so() -> None:
    offer = offered(after(started()))
    holds = {one.ending: one.holds for one in offer.formats}
    assert holds[".svg"] == "the table: there is no plot yet, as a picture"
    assert "<svg" in content(offer, ".svg")


@pytest.mark.parametrize("width", [60])
def test_a_line_says_what_a_format_holds(width: int) -> None:
    for one in offered(after(started())).formats:
        assert 0 < len(one.holds) <= width


def test_a_script_needs_the_engine() -> None:
    ask: Callable[[], str] = lambda: content(offered(after(started())), ".py")  # noqa: E731
    with pytest.raises(ExportError, match="JAX is not there"):
        ask()
