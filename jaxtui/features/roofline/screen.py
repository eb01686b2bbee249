"""The roofline in the tab Bench."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.core.model import Remark, Roofs, RoofsMeasured
from jaxtui.core.model.document import Note
from jaxtui.core.state import State
from jaxtui.features.roofline import report
from jaxtui.features.roofline.judge import (
    device_of,
    headline,
    places,
    reached,
    roofs_of,
    same_silicon,
    work_for,
)
from jaxtui.features.roofline.messages import Place
from jaxtui.features.roofline.picture import picture
from jaxtui.ui import words
from jaxtui.ui.app.base import BaseApp
from jaxtui.ui.plot import Color, Picture
from jaxtui.ui.report import Column, Statement

SECONDS = Roofs(device="", dtypes=()).budget
"""Seconds for measuring the roofs of a device; compiling comes on top."""


def why_not(state: State) -> str | None:
    """Return why the key does nothing."""
    if state.can_run and state.run is None:
        return "Run something first: z measures the roofs of its device."
    return None


def begin(app: BaseApp) -> None:
    """Measure the roofs of the device of the selected case."""
    state = app.session.state
    if (device := device_of(state, state.case_index)) is not None:
        app.session.update(view="roofline")
        app.start(work_for(state, device), "roofs")


def message(state: State) -> str:
    """Return the result of the last measuring; empty while it runs."""
    job = state.jobs.get("roofs")
    if job is None or job.outcome is None or not isinstance(job.work, Roofs):
        return ""
    device = job.work.device
    roofs, why = roofs_of(state, device), words.why(job.failed)
    have = "there is no roof yet" if roofs is None else "these are the roofs so far"
    if job.outcome == "crashed":
        return f"The engine died: {have}. Measure them again. {why}".rstrip()
    if job.failed is not None:
        return f"jaxtui could not measure the roofs of {device}. {why}"
    if job.outcome != "complete":
        return f"Stopped: {have}. Measure them again."
    return f"{reached(roofs)}." if roofs is not None else ""


def _under(
    state: State, selected: int
) -> tuple[str, RoofsMeasured | None, list[Place | None]]:
    """The device of the selected case, its roofs, and the cases below them."""
    device, run = device_of(state, selected) or "", state.run
    roofs = roofs_of(state, device)
    measuring = is_measured(state, device)
    return device, roofs, places(run, roofs, measuring=measuring) if run else []


def is_measured(state: State, device: str) -> bool:
    """Return whether the roofs of this very device are being measured."""
    work = state.job.work if state.job is not None else None
    return isinstance(work, Roofs) and same_silicon(work.device, device)


def plot(
    state: State, selected: int, colors: Sequence[Color]
) -> tuple[str, Picture | None, str]:
    """Return the title, the picture, and the text in its place."""
    device, roofs, under = _under(state, selected)
    about = (
        "A roofline shows what limits each case: under the slanting roof it waits for"
        " memory, under the flat roof for arithmetic. The nearer a case comes to its"
        " roof, the less is left to gain."
    )
    to_do = f"z measures the roofs of {device} in about {SECONDS:.0f} s."
    if is_measured(state, device):
        so_far = report.so_far(roofs)
        to_do = f"jaxtui is measuring the roofs of {device}. {so_far}".rstrip()
    job = state.jobs.get("roofs")
    fine = job is None or (job.outcome == "complete" and job.failed is None)
    problem = "" if fine else message(state)
    title = f"roofline of {device}"
    why = "\n\n".join(filter(None, (about, problem, to_do)))
    if roofs is None:
        return title, None, why
    shown = [place for place in under if place]
    return title, picture(shown, roofs, colors, under[selected]), why


def statements(state: State, selected: int) -> tuple[Statement, ...]:
    """Return the limit of the selected case, and what qualifies the roofs."""
    _, roofs, under = _under(state, selected)
    if roofs is None:
        return ()
    place = under[selected]
    notes = [report.verdict_of(place)] if place else []
    notes += [Note(flag="roofs", text=headline(roofs)), *report.roof_notes(roofs)]
    return tuple(
        Statement(Remark(x.flag, severity=x.level, text=x.text), x.about) for x in notes
    )


def columns(state: State, selected: int, *, wide: bool) -> list[Column]:
    """Return the columns of the results."""
    assert state.run is not None
    return report.columns(state.run, _under(state, selected)[2], 16 if wide else 8)
