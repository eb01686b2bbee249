"""What the tab Learn has to export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxtui.export import COLUMNS, LINES, Look, as_svg, named, stamp
from jaxtui.model import Work
from jaxtui.tui.offers.offer import Offer, at_once, formats
from jaxtui.tui.offers.scripts import Planner

if TYPE_CHECKING:
    from jaxtui.lessons.base import Conclusion
    from jaxtui.plot import Picture
    from jaxtui.tui.learn_state import LessonState


def of_step(
    lesson: LessonState,
    conclusion: Conclusion | None,
    works: Sequence[Work],
    picture: Picture | None,
    look: Look,
    plan: Planner,
) -> Offer:
    """The step of a lesson.

    Args:
        lesson: the open one.
        conclusion: what its figures say, if it has any.
        works: what the step runs, or has run.
        picture: the plot that is shown, if there is one.
        look: the colours of the theme.
        plan: for the scripts.
    """
    title = lesson.shown.title

    def text() -> str:
        from jaxtui.tui import learn_text

        return learn_text.whole(lesson, conclusion)

    async def script() -> str:
        from jaxtui.lessons.base import code_parts
        from jaxtui.scripts import joined

        return joined(await code_parts(works, plan), title)

    def svg() -> str:
        shown = picture.rows(COLUMNS, LINES) if picture else []
        return as_svg(shown, f"{lesson.lesson.title}: {title}", look)

    described = [(".txt", "what the step says and what came out", at_once(text))]
    if works:
        holds = "plain Python of what it runs, with JAX and NumPy alone"
        described.append((".py", holds, script))
    if picture is not None:
        holds = "the plot as it is shown, as a picture"
        described.append((".svg", holds, at_once(svg)))
    stem = named(lesson.lesson.name, f"step{lesson.index + 1}", stamp())
    return Offer(what=f"the step “{title}”", formats=formats(stem, *described))
