"""What stands around the lanes of the async view, styled."""

from __future__ import annotations

from textual.content import Content

from jaxtui.model import Loop, LoopMeasured
from jaxtui.state import Job
from jaxtui.tui import loop_words
from jaxtui.tui.lanes import timeline
from jaxtui.tui.state import State

_LABEL = 11
_TIME = 9


def headline(state: State, shown: Job | None, loop: Loop, *, due: bool) -> Content:
    """The stopwatch's reading and the truth, or why they are not there.

    Args:
        state: what is on screen.
        shown: what came of the loop.
        loop: the one that was asked for.
        due: whether it has yet to begin.
    """
    measured = None if shown is None else shown.result
    if due or shown is None or (shown.failed is None and measured is None):
        return Content(loop_words.waiting(state, loop))
    if shown.failed is not None:
        error = Content.styled(shown.failed.error, "bold $text-error")
        return Content("\n").join([error, Content(shown.failed.hint)])
    assert isinstance(measured, LoopMeasured)
    return _figures(measured)


def _figures(measured: LoopMeasured) -> Content:
    lines = [
        Content.assemble(
            line.label.ljust(_LABEL),
            (line.time.rjust(_TIME), "bold"),
            "   ",
            (line.rest, "bold $text-error" if line.bad else ""),
        )
        for line in loop_words.headline(measured)
    ]
    bad = measured.impossible and not measured.inline
    sentence = loop_words.verdict(measured, timeline(measured.calls))
    style = "bold $text-error" if bad else "bold"
    return Content("\n").join([*lines, Content.styled(sentence, style)])


def legend(playing: str, width: int) -> Content:
    """What the shades mean at the left, the playback at the right.

    Args:
        playing: how the loop is being played.
        width: cells.
    """
    left = Content.assemble(
        ("█", "$plot-2"),
        " call  ",
        ("─", "$plot-axis"),
        " wait  ",
        ("█", "$plot-1"),
        " compute",
    )
    room = width - left.cell_length - len(playing)
    return Content.assemble(left, " " * max(2, room), (playing, "$text-accent"))


def notes(measured: LoopMeasured | None, *, all_of_them: bool) -> Content:
    """What qualifies the figures, a line each.

    Args:
        measured: the loop, if it has its figures.
        all_of_them: also what the rest of the screen says already.
    """
    if measured is None:
        return Content()
    found = loop_words.notes(measured, all_of_them=all_of_them)
    lines = [Content.assemble((f"{note.flag}: ", "bold"), note.text) for note in found]
    return Content("\n").join(lines)
