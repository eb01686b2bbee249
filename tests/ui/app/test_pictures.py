"""Every screen as text, in a small and in a large terminal: one app walks through all.

With ``JAXTUI_GOLDEN=write`` in the environment the files in ``pictures`` are written
instead of compared with.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from jaxtui.core.history.store import History
from jaxtui.core.model import (
    CaseMeasured,
    CaseStarted,
    Event,
    Experiment,
    Inspection,
    Profiling,
    Roofs,
    RunFinished,
    RunStarted,
)
from jaxtui.core.model.profile import Frame
from jaxtui.features.lessons import catalogue as lessons
from jaxtui.ui.app.app import JaxtuiApp
from tests.core.figures import bandwidth, compute, roofs
from tests.core.history.making import DEVICE, HOST, insert, measurement
from tests.fake_engine import FakeEngine, at_once, began, sampled, tpu_devices
from tests.fake_engine import measurement as figures
from tests.features.lessons.lessons_to_try import LESSONS
from tests.features.links import linking
from tests.features.program.test_screen import inspected
from tests.golden.test_documents import WRITES, check_frozen
from tests.records import kernel, profiled
from tests.ui.app.driving import app_on, lines, until, until_ready

PICTURES = Path(__file__).with_name("pictures")
ENDED = RunFinished(outcome="complete", elapsed_seconds=4.2)

SCENES = {
    "history": "4",
    "history, filtered": "4 slash",
    "two compared": "4 space down space",
    "history, deleting": "4 delete",
    "devices": "1",
    "details": "1 d",
    "help": "1 d question_mark",
    "palette": "1 ctrl+p",
    "recorded": "1 o enter",
    "links": "1 l",
    "check": "1 c",
    "first minute": "1 enter",
    "class": "1 p",
    "form": "2",
    "results": "2 r",
    "sizes": "2 w",
    "calls": "2 a",
    "program": "2 h",
    "profile": "2 P",
    "roofline": "2 z",
    "code": "2 v",
    "lessons": "3",
    "step": "3 enter",
    "conclusion": "3 enter b enter",
}
"""The keys to each, from a tab with no screen over it."""


def answer(work: Any) -> Sequence[Event]:
    """All of a work at once."""
    if isinstance(work, Experiment) and work.cases[0].target:
        return linking.answer(work, {("tpu:0", "tpu:1"): 2.0})
    if isinstance(work, Experiment):
        cases = list(enumerate(work.cases))
        return [
            began(work),
            *(CaseStarted(index=index, case=case) for index, case in cases),
            *(sampled(index, case, turn) for index, case in cases for turn in (0, 1)),
            *(CaseMeasured(index=i, measurement=figures(case)) for i, case in cases),
            ENDED,
        ]
    if isinstance(work, Inspection):
        return [RunStarted(), inspected(work.case), ENDED]
    if isinstance(work, Profiling):
        frames = tuple(Frame(file="mine.py", line=n, function="f") for n in (4, 5))
        dot, tanh = (kernel(x, 6e-3, 6e-3, stacks=((0,),)) for x in ("dot.1", "tanh.2"))
        return [RunStarted(), profiled(dot, tanh, frames=frames), ENDED]
    if isinstance(work, Roofs):
        found = roofs(bandwidth(800e9), compute(90e12), device=work.device)
        return [RunStarted(), found, ENDED]
    return at_once(work)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids="{0[0]}x{0[1]}".format)
async def test_every_screen_is_as_it_was(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(lessons, "NAMES", dict.fromkeys(LESSONS, ""))
    monkeypatch.setattr(lessons, "load", LESSONS.__getitem__)
    monkeypatch.setattr(Input, "cursor_blink", False)
    for n in (64, 128, 256):
        insert(History(), HOST, DEVICE, measurement(size=n), 1_790_000_000.0 + n)
    app = app_on(FakeEngine(answer, devices=tpu_devices()[:4]), clock=lambda: 0.0)
    async with app.run_test(size=size) as pilot:
        await until_ready(pilot, app)
        for name, keys in SCENES.items():
            while len(app.screen_stack) > 1:
                app.pop_screen()
                await pilot.pause()
            app.screen.set_focus(None)
            for key in keys.split():
                await pilot.press(key)
                await pilot.pause()
                await until(pilot, lambda: not app.session.state.busy)
            file = f"{name.replace(', ', '-').replace(' ', '-')}-{size[0]}x{size[1]}"
            await compare(pilot, app, PICTURES / f"{file}.txt")
    monkeypatch.undo()
    time.tzset()


async def compare(pilot: Pilot[None], app: JaxtuiApp, path: Path) -> None:
    """Wait until the screen is as in the file."""

    def shown() -> str:
        return "".join(f"{line.rstrip()}\n" for line in lines(app).splitlines())

    if WRITES:
        for _ in range(40):
            await pilot.pause()
        check_frozen(path, shown())
    try:
        await until(pilot, lambda: shown() == path.read_text())
    except AssertionError:
        check_frozen(path, shown())
