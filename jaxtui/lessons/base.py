"""What a lesson is, where it is run, what it runs next, and what its figures say.

A lesson is described without JAX. What it runs is made of the same work that the rest
of jaxtui gives to an engine: experiments, loops and snippets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui import scripts
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import (
    Device,
    Experiment,
    Host,
    Loop,
    Measurement,
    OpInfo,
    Plan,
    PlannedCase,
    Snippet,
    Summary,
    Work,
)
from jaxtui.plot import Picture
from jaxtui.scripts import Script
from jaxtui.selection import SelectionError, first_device, parse_devices

PROSE_COLUMNS, PROSE_LINES = 76, 14
"""What fits a screen of 80×24 beside everything else."""

UNSTEADY = 0.25
"""Where the interval of a figure reaches further than this share of it to either side,
two figures that differ by half may be the same."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The machine and the size on which a lesson is run."""

    size: int
    """The lesson's one size parameter."""
    device: str
    """The JAX device that the lesson is about, e.g. ``cpu:0`` or ``tpu:0``."""
    devices: tuple[Device, ...]
    host: Host | None = None
    ops: tuple[OpInfo, ...] = ()
    ghosts: tuple[Measurement, ...] = ()
    """What another machine measured, to be drawn beside the learner's own."""
    ghost_label: str = ""
    """Which machine that was; empty without ghosts."""

    @property
    def platform(self) -> str:
        """``cpu``, ``tpu``, ``gpu``."""
        return self.device.partition(":")[0]

    @property
    def accelerated(self) -> bool:
        """Whether the lesson's device is an accelerator."""
        return self.platform != "cpu"

    @property
    def accelerator(self) -> str | None:
        """The lesson's device if it is an accelerator, or else the first one."""
        return self._first(accelerated=True)

    @property
    def processor(self) -> str | None:
        """The CPU as a JAX device; ``None`` where this process has none."""
        return self._first(accelerated=False)

    def _first(self, *, accelerated: bool) -> str | None:
        if self.accelerated == accelerated:
            return self.device
        for device in self.devices:
            if device.addressable and (device.platform != "cpu") == accelerated:
                return device.name
        return None


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a learner is asked before the result."""

    text: str
    choices: tuple[str, ...]
    """Two to four short answers."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a step's table: the learner's figure beside the published one."""

    what: str
    yours: str
    """With its unit; "—" where this machine has none, and ``remark`` says why."""
    published: str = ""
    """With its unit and machine; empty where none is published."""
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What a step's own figures say."""

    rows: tuple[Row, ...]
    holds: bool | None
    """Whether the claim holds here; ``None`` where this machine cannot tell."""
    takeaway: str
    """A few sentences with the learner's own numbers in them. Where the claim does not
    hold, they say so and why that may be, instead of repeating the textbook."""
    answer: int | None = None
    """Index of the choice that turned out right."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One screenful: prose, a prediction, something that runs, a conclusion."""

    title: str
    prose: str
    """Plain text; paragraphs are parted by an empty line, code stands in backticks,
    lines that begin with four spaces are code and stay as they are."""
    claim: str
    """One sentence that the step's figures can confirm or refute."""
    works: Callable[[Setting], tuple[Work, ...]]
    """What is run, one after the other."""
    conclude: Callable[[Setting, Outcome], Conclusion]
    """Called when everything has run; figures that are missing (a case failed, the
    run was stopped) must not make it raise: it says what is missing."""
    question: Question | None = None
    source: str = ""
    """Where the published figures come from: title, machine, year if known, and URL."""
    follow: Callable[[Setting, Outcome, int], Work | None] | None = None
    """What is run next, given how many such runs there were: for a bisection."""
    picture: Callable[[Setting, Outcome], Picture | None] | None = None
    """Drawn live while the work runs, and in the end."""


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A title as a question or claim, and its steps."""

    name: str
    """As it is typed: ``jaxtui learn clock``."""
    title: str
    summary: str
    """One sentence for the list."""
    steps: tuple[Step, ...]
    size_means: str
    """What the size counts, e.g. ``n of n×n``; empty if the lesson has none."""
    sizes: Mapping[str, int]
    """The default size by platform; ``cpu`` is for every platform that is not named.
    A few seconds per step on a small machine."""
    minimum: int = 1
    maximum: int = 1 << 40
    """Sizes beyond are refused with one sentence."""
    needs: str = ""
    """What some of its steps would need that a machine may not have."""

    def size(self, platform: str) -> int:
        """The default size on a platform."""
        return self.sizes.get(platform, self.sizes["cpu"])

    def check_size(self, size: int) -> None:
        """Whether the lesson can be run with this size.

        Raises:
            SelectionError: if it cannot.
        """
        if not self.size_means:
            raise SelectionError(
                f"The lesson {self.name} has no size to set: leave {size} out."
            )
        if not self.minimum <= size <= self.maximum:
            raise SelectionError(
                f"The size {size} does not fit the lesson {self.name}: it takes "
                f"{self.minimum} to {self.maximum} ({self.size_means})."
            )


# Where it is run.


def default_device(devices: Sequence[Device]) -> Device:
    """The first accelerator that this process can address, or else the first CPU.

    Raises:
        SelectionError: if there is no device at all.
    """
    accelerators = [device for device in devices if device.platform != "cpu"]
    mine = [device for device in accelerators if device.addressable]
    return mine[0] if mine else first_device(devices)


def setting(
    lesson: Lesson,
    devices: Sequence[Device],
    host: Host | None,
    ops: Sequence[OpInfo],
    size: int | None = None,
    device: str | None = None,
    *,
    ghosts: Sequence[Measurement] = (),
    ghost_label: str = "",
) -> Setting:
    """Where a lesson is run, checked.

    Args:
        lesson: which one.
        devices: all that JAX sees.
        host: the machine.
        ops: the catalogue.
        size: the lesson's size parameter; ``None`` is its default here.
        device: by name; ``None`` is ``default_device``.
        ghosts: what another machine measured.
        ghost_label: which machine that was.

    Raises:
        SelectionError: if the lesson has no such size, or there is no such device.
    """
    names = [default_device(devices).name] if device is None else []
    if device is not None:
        names += parse_devices(device, devices)
    if len(names) > 1:
        raise SelectionError(
            f'A lesson is about one device, and "{device}" names {len(names)}: '
            f"choose one out of {', '.join(names)}."
        )
    (chosen,) = names
    if size is not None:
        lesson.check_size(size)
    elif lesson.sizes:
        size = lesson.size(chosen.partition(":")[0])
    return Setting(
        size=lesson.minimum if size is None else size,
        device=chosen,
        devices=tuple(devices),
        host=host,
        ops=tuple(ops),
        ghosts=tuple(ghosts),
        ghost_label=ghost_label,
    )


# What it runs, and what that says.


def next_work(step: Step, setting: Setting, outcome: Outcome, done: int) -> Work | None:
    """What a step runs after ``done`` works; ``None`` when it is complete.

    Nothing more is run once something went wrong as a whole.
    """
    if outcome.problem is not None:
        return None
    works = step.works(setting)
    if done < len(works):
        return works[done]
    if step.follow is None:
        return None
    return step.follow(setting, outcome, done - len(works))


def conclude(step: Step, setting: Setting, outcome: Outcome) -> Conclusion:
    """What the step makes of its figures; where they wander, a refutation is doubted.

    Where some are missing because a work has no result, the claim stays open.

    Raises:
        Exception: Whatever the step's own conclusion raises.
    """
    conclusion = step.conclude(setting, outcome)
    if outcome.lost:
        takeaway = "Incomplete: the engine was lost, so this step says nothing."
        conclusion = dataclasses.replace(conclusion, takeaway=takeaway)
    if outcome.problem is not None:
        conclusion = dataclasses.replace(conclusion, holds=None, answer=None)
    wandering = [
        (name, clock) for name, clock in _clocks(outcome) if clock.half_width > UNSTEADY
    ]
    if conclusion.holds is not False or not wandering:
        return conclusion
    name, worst = max(wandering, key=lambda named: named[1].half_width)
    doubt = (
        f"But {name} is only known to lie between {fmt.seconds(worst.ci_low)} and"
        f" {fmt.seconds(worst.ci_high)} ({fmt.interval_name(worst.confidence)}):"
        " something else may have used the machine. Run this step again before you"
        " believe it."
    )
    return dataclasses.replace(conclusion, takeaway=f"{conclusion.takeaway} {doubt}")


def _clocks(outcome: Outcome) -> Iterator[tuple[str, Summary]]:
    """What was timed to its end, with its name."""
    for one in outcome.measurements:
        if one.stopped is not None and one.ready is not None:
            yield one.case.label, one.ready
    for name, timing in outcome.timings.items():
        yield name, timing.seconds


# The plain Python of it.

Planner = Callable[[Experiment], Awaitable[Plan]]
"""Asks an engine how to do an experiment without jaxtui."""


async def code_parts(works: Sequence[Work], plan: Planner) -> tuple[Script, ...]:
    """The scripts of some works; the cases of an experiment take turns in one.

    What a step decides to run in view of its figures, as in a bisection, is not in it.
    """
    found: list[Script] = []
    for work in works:
        if isinstance(work, Snippet):
            found.append(scripts.snippet_script(work))
        elif isinstance(work, Loop):
            (planned,) = (await plan(Experiment(cases=(work.case,)))).cases
            found.append(scripts.loop_script(work, planned))
        elif isinstance(work, Experiment):
            found += _experiment_scripts(await plan(work))
    return tuple(found)


def _experiment_scripts(plan: Plan) -> list[Script]:
    """One for all cases that take turns, and one for each that cannot run here."""
    groups: dict[tuple[int, str], list[PlannedCase]] = {}
    for one in plan.cases:
        # Where memory is short, sizes run one after another here, too.
        key = (one.case.size, one.case.op) if plan.grouped else (0, "")
        if one.recipe:
            groups.setdefault(key, []).append(one)
    able = map(scripts.experiment_script, groups.values())
    return [*able, *(scripts.missing(one) for one in plan.cases if not one.recipe)]
