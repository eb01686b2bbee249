"""What a lesson says, as ``views.txt`` holds it: the list, pages, and their parts.

With ``JAXTUI_GOLDEN=write`` in the environment it is written instead of compared with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import RenderableType

from jaxtui.core import format as fmt
from jaxtui.core.model import (
    Experiment,
    Remark,
    RunFinished,
    SnippetTimed,
    Timing,
    Work,
)
from jaxtui.core.state import Job
from jaxtui.features.lessons import report as view
from jaxtui.features.lessons.base import Conclusion, Row
from jaxtui.features.lessons.course import Attempt
from jaxtui.features.lessons.play import StepRun
from jaxtui.features.lessons.report import Page, PageFigures, takeaway
from jaxtui.features.lessons.trial import setting
from jaxtui.ui.plot import COLORS, Axis, Picture, Series
from jaxtui.ui.report import written
from tests import records
from tests.fake_engine import HOST, at_once, cpu_devices
from tests.features.lessons.figures import after, measured
from tests.features.lessons.lessons_to_try import FIRST, SECOND
from tests.golden.test_documents import check_frozen
from tests.records import case

STEP = FIRST.steps[0]
HERE = setting(FIRST, cpu_devices(), HOST)

PROSE = """\
A call returns before the work is done: `f(x)`
gives a promise.

    y = f(x)
      .block_until_ready()

Then look.
"""

ROWS = (
    Row(
        what="it returned",
        yours=(fmt.figure(98e-6, digits=2),),
        published=(fmt.figure(269e-6), " GPU"),
        remark="the call",
    ),
    Row(
        what="the call that waits",
        yours=(fmt.figure(10e-3, digits=2),),
        published=(fmt.figure(1.92),),
        remark=("of ", fmt.figure(1.0, digits=1)),
    ),
    Row(what="an error", yours="TypeError: " + "words " * 20, remark="after 2 s"),
)


def marked(content: RenderableType, width: int = 76) -> str:
    """The text, with the codes of its colours in angle brackets."""
    text = written(content, width, colour=True)
    return re.sub(r"\x1b\[([\d;]*)m", r"<\1>", text)


def timed(name: str, *seconds: float, once: bool = False) -> SnippetTimed:
    timing = Timing(name=name, seconds=records.summary(*seconds), once=once)
    return SnippetTimed(timing=timing)


def parts() -> Iterator[tuple[str, str]]:
    yield "prose", marked(view.Prose(PROSE), 60)
    # Times are written alike: the learner's, the published ones and those of remarks.
    yield "table", marked(view.table(ROWS))
    yield "wide table", marked(view.table(ROWS), 260)
    yield "nothing published", marked(view.table((Row(what="a", yours="1 s"),)))
    done = (True, False), (True,)
    listed = view.entries((FIRST, SECOND), done, (9.6, 120))
    yield "list", "\n".join(entry.markup for entry in listed)
    yield "contents", marked(view.contents((FIRST, SECOND), done))
    works = (*STEP.works(HERE), *SECOND.steps[0].works(HERE))
    yield "programs", marked(view.apart(*map(view.program, works)), 60)
    # One scale and one unit; what was interpreted has no speed; vague times are dim.
    note = Remark("interpreted", text="In interpret mode.")
    outcome = after(
        timed("plain call", 1e-4),
        timed("a call that waits", 4e-3),
        timed("wanders", 2e-3, 0.4),
        timed("the first call", 1e-3, once=True),
        measured(case(), 2e-3),
        measured(case("numpy"), 1e-3),
        measured(case("pallas"), 9e-3, notes=(note,)),
    )
    yield "bars", marked(view.bars(outcome), 60)
    two = after(timed("a", 1e-4), timed("b", 2e-4))
    yield "two bars", marked(view.bars(two), 60)
    assert view.bars(after(timed("a", 1e-4))) == ""
    rows = Row("wanders", "2 ms", vague=True), Row("the first call", "1 ms")
    yield "vague", marked(view.table(rows), 60)
    assert view.bars(after()) == view.table(()) == ""


def run_of(*works: Work) -> StepRun:
    run = StepRun(FIRST.steps[0], HERE)
    for work in works:
        if isinstance(work, Experiment):
            run = run.observe(measured(work.cases[0], 2e-3))
            run = run.observe(RunFinished(outcome="complete", elapsed_seconds=1.0))
            continue
        for event in at_once(work):  # type: ignore[arg-type]
            run = run.observe(event)
    return run


def page(run: StepRun | None = None, **changes: Any) -> Page:
    live = bool(changes.get("live"))
    facts: dict[str, Any] = {
        "lesson": FIRST,
        "number": 0,
        "run": run,
        "setting": HERE,
        "figures": PageFigures.of(STEP, HERE, run, COLORS, live=live),
    }
    return Page(**{**facts, **changes})


def concluded(prediction: int | None, **facts: Any) -> Page:
    """A step that was run, with a conclusion."""
    run = run_of()
    said: dict[str, Any] = {"sentences": ("So it is.", "And so on."), "rows": ROWS[:1]}
    if (answer := facts.get("answer")) is not None:
        said["answers"] = frozenset({answer})
    conclusion = Conclusion(**{**said, **facts})
    figures = PageFigures(conclusion=conclusion)
    return page(run, attempt=Attempt(prediction=prediction, run=run), figures=figures)


FIRST_WORK, LAST_WORK = STEP.works(HERE)
BOTH = run_of(FIRST_WORK, LAST_WORK)
SIMULATED = replace(HERE, devices=cpu_devices(2, simulated=True))
EITHER = {"holds": True, "answer": 1, "answers": frozenset({0, 1})}
DOUBT = (Remark("step-disturbed"),)

PAGES = {
    "before": page(),
    "predicted": page(attempt=Attempt(prediction=1)),
    "broken": page(attempt=Attempt(trouble="It broke.")),
    "broken, running": page(
        attempt=Attempt(trouble="It broke.", prediction=1),
        live=True,
        job=Job(1, work=FIRST_WORK, elapsed_seconds=1.0, remaining_seconds=3.0),
        elapsed_seconds=1.0,
    ),
    "one work of two": page(run_of(FIRST_WORK), attempt=Attempt(2, run_of(FIRST_WORK))),
    "done": page(BOTH, attempt=Attempt(prediction=2, run=BOTH), done=(True, False)),
    "done, simulated": page(
        replace(BOTH, setting=SIMULATED), attempt=Attempt(run=BOTH), done=(True, True)
    ),
}
GRADED = {
    "holds, right": concluded(1, holds=True, answer=1),
    "holds, doubted": concluded(1, holds=True, answer=1, doubts=DOUBT),
    "fails, wrong": concluded(0, holds=False, answer=1),
    "open": concluded(0, holds=None),
    "not predicted": concluded(None, holds=True, answer=1),
    # Every choice that the figures allow is right, and noise grades nobody.
    **{f"either, {n} predicted": concluded(n, **EITHER) for n in range(3)},
    "noise, right": concluded(0, **EITHER, graded=False),
    "noise, wrong": concluded(2, **EITHER, graded=False),
}


def pages() -> Iterator[tuple[str, str]]:
    for name, shown in PAGES.items():
        parts = (shown.heading(), *shown.choices(), shown.verdict(), shown.results())
        asks = " asks" * shown.asks
        yield f"{name}: {shown.stage}{asks}", "\n".join(map(marked, parts))
        yield "why", marked(shown.explanation()).partition("\n\n    jnp")[2]
    for name, shown in GRADED.items():
        yield name, "\n".join(map(marked, (*shown.choices(), shown.verdict())))
    yield "why", marked(shown.explanation())
    yield "narrow", marked(page().heading(), 36)
    for name in ("before", "one work of two"):
        yield f"{name}, taken away", PAGES[name].text()


def test_all_that_is_written_is_as_it_was() -> None:
    text = "".join(f"== {name}\n{text}\n" for name, text in [*parts(), *pages()])
    lines = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    check_frozen(Path(__file__).with_name("views.txt"), lines)


@pytest.mark.parametrize("width", [58, 78, 118, 200])
def test_a_table_loses_nothing_at_any_width(width: int) -> None:
    lines = written(view.table(ROWS), width).split("\n")
    assert max(map(len, lines)) <= width
    cells: Any = [cell for row in ROWS for cell in row.figures]
    write: Any = fmt.alike(cells)
    expected = " ".join(cell for row in ROWS for cell in row.texts(write)).split()
    words = " ".join(lines).split()
    assert sorted(words) == sorted([*expected, "yours", "published"])


@pytest.mark.parametrize(
    ("elapsed", "remaining", "now", "left"),
    [
        # Before the engine has said anything there is the budget of what runs.
        (0.0, 0.0, 2.0, 3.0),
        (1.0, 3.0, 1.0, 3.0),
        # What it has said last grows old.
        (1.0, 3.0, 2.5, 1.5),
        (1.0, 3.0, 99.0, -95.0),
    ],
)
def test_the_seconds_left_go_down_between_two_reports(
    elapsed: float, remaining: float, now: float, left: float
) -> None:
    assert (FIRST_WORK.budget, LAST_WORK.budget) == (5.0, 0.1)  # type: ignore[union-attr]
    job = Job(1, work=FIRST_WORK, elapsed_seconds=elapsed, remaining_seconds=remaining)
    # The experiment comes after it, and earlier works lie behind both.
    facts = {"live": True, "job": job, "played_seconds": 50.0}
    for works, more in (((), 0.1), ((FIRST_WORK,), 0.0)):
        shown = page(run_of(*works), elapsed_seconds=50.0 + now, **facts)
        assert shown.seconds_left == pytest.approx(max(0.0, left + more))


def test_what_is_taken_away_from_a_step_has_no_doubts() -> None:
    sure = Conclusion(holds=True, sentences=("So it is.",))
    assert takeaway(sure) == takeaway(replace(sure, doubts=DOUBT)) != ""


def test_curves_have_the_colours_of_their_sides() -> None:
    line = Series("first", (1.0,), (1.0,))
    numpy, grey = replace(line, label="NumPy"), replace(line, color=(9, 9, 9))
    picture = Picture(series=(line, numpy, grey), x=Axis(), y=Axis(), title="")
    step = replace(STEP, trial=replace(STEP.trial, picture=lambda *_: picture))
    drawn = PageFigures.of(step, HERE, run_of(), COLORS, live=False).picture
    assert drawn is not None
    assert [one.color for one in drawn.series] == [COLORS[-1], COLORS[2], (9, 9, 9)]
