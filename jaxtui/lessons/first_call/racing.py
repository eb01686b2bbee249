"""A race between NumPy and JAX, which starts with its first call behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxtui import format as fmt
from jaxtui.lessons import cases, race, words
from jaxtui.lessons.base import Row, Setting
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.race import Runner
from jaxtui.model import Experiment, Work
from jaxtui.plot import Picture

COLAB = (
    Runner(label="Colab NumPy", first_seconds=1.61, each_seconds=1.61, ghost=True),
    Runner(
        label="Colab GPU",
        first_seconds=155e-6 + 2.16,
        each_seconds=68.9e-3,
        ghost=True,
    ),
    Runner(
        label="Colab TPU",
        first_seconds=164e-6 + 0.837,
        each_seconds=16.5e-3,
        ghost=True,
    ),
)
"""The published runs, n = 5000; their compile has one run in it already."""


def works_of(op: str) -> Callable[[Setting], tuple[Work, ...]]:
    """The works of a race over this op."""

    def works(setting: Setting) -> tuple[Work, ...]:
        size = size_of(setting, op)
        jax, numpy = cases.jax(setting.device, op, size), cases.numpy(op, size)
        return (Experiment(cases=(jax, numpy), budget_seconds=6.0),)

    return works


def size_of(setting: Setting, op: str) -> int:
    """The op's size: n of n×n, or as many elements."""
    return setting.size if op == "gram" else setting.size**2


def runners(outcome: Outcome) -> tuple[Runner | None, Runner | None]:
    """JAX and NumPy, as far as they were measured."""
    jax = race.jax_runner(outcome.find(mode="jit"))
    return jax, race.numpy_runner(outcome.find(mode="numpy"))


def picture_of(op: str) -> Callable[[Setting, Outcome], Picture | None]:
    """Draws a race over this op, with the recorded runs as ghosts."""

    def picture(setting: Setting, outcome: Outcome) -> Picture | None:
        jax, numpy = runners(outcome)
        own = [runner for runner in (jax, numpy) if runner is not None]
        ghosts = race.recorded(setting, op)
        title = "seconds so far, after so many calls"
        if op == "gram" and not ghosts:
            ghosts = COLAB
            title += "; Colab: published, n = 5000"
        meet = race.meeting(jax, numpy) if jax and numpy else None
        return race.picture([*own, *ghosts], meet, title)

    return picture


def rows(outcome: Outcome, published: Sequence[str]) -> tuple[Row, ...]:
    """The figures of both, beside four published ones."""
    jax, numpy = runners(outcome)
    meet = race.meeting(jax, numpy) if jax and numpy else None
    at = words.ABSENT if jax is None or numpy is None else call_number(meet)
    return (
        Row(
            what="JAX, until its first result",
            yours=words.duration(jax.first_seconds if jax else None),
            published=published[0],
            remark=words.trouble(outcome, mode="jit") or "transfer, compile, run",
        ),
        Row(
            what="JAX, each later call",
            yours=words.duration(jax.each_seconds if jax else None),
            published=published[1],
        ),
        Row(
            what="NumPy, each call",
            yours=words.duration(numpy.each_seconds if numpy else None),
            published=published[2],
            remark=words.trouble(outcome, mode="numpy"),
        ),
        Row(
            what="JAX has caught up with",
            yours=at,
            published=published[3],
            remark="from the published figures" if published[3] else "",
        ),
    )


def call_number(meet: int | None) -> str:
    """Which call JAX has caught up with."""
    return "never" if meet is None else f"call {fmt.count(meet)}"


def ending(jax: Runner, numpy: Runner, meet: int | None) -> str:
    """How the race ended, in a sentence."""
    each = (
        f"a later JAX call takes {words.duration(jax.each_seconds)}, a NumPy call "
        f"{words.duration(numpy.each_seconds)}"
    )
    if meet is None:
        return f"JAX never catches up here: {each}."
    if meet == 1:
        return f"JAX is ahead from the first call: {each}."
    return f"JAX has caught up with call {fmt.count(meet)}: {each}."


def bracket(meet: int | None) -> int:
    """Which of ``MEETINGS`` came true."""
    if meet is None:
        return 3
    return 0 if meet <= 10 else 1 if meet <= 1000 else 2


MEETINGS = ("Within 10 calls", "Within 1000 calls", "Later", "Never")
