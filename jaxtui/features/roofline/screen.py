"""The roofline in the tab Bench."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.features.roofline import report
from jaxtui.features.roofline.report import Roofline
from jaxtui.plot import Color, Picture
from jaxtui.state import State
from jaxtui.tui.base import BaseApp
from jaxtui.view.report import Statement
from jaxtui.view.text import Column

message = report.message


def why_not(state: State) -> str | None:
    """Return why the key does nothing."""
    if state.can_run and state.run is None:
        return "Run something first: z measures the roofs of its device."
    return None


def begin(app: BaseApp) -> None:
    """Measure the roofs of the device of the selected case."""
    state = app.session.state
    if (device := report.device_of(state, state.case_index)) is not None:
        app.session.update(view="roofline")
        app.start(report.work_for(state, device), "roofs")


def is_available(state: State) -> bool:
    """Return whether there is a view."""
    return True


def plot(
    state: State, selected: int, colors: Sequence[Color]
) -> tuple[str, Picture | None, str]:
    """Return the title, the picture, and the text in its place."""
    roofline = Roofline.of(state, selected)
    assert roofline is not None
    title = f"roofline of {roofline.device}"
    return title, roofline.picture(colors), roofline.why_no_picture()


def statements(state: State, selected: int) -> tuple[Statement, ...]:
    """Return what stands below the results."""
    roofline = Roofline.of(state, selected)
    return roofline.statements() if roofline is not None else ()


def columns(state: State, selected: int, *, wide: bool) -> list[Column]:
    """Return the columns of the results."""
    roofline = Roofline.of(state, selected)
    assert roofline is not None
    return roofline.columns(16 if wide else 8)
