"""The programs and claims of a lesson's steps, and the conclusions from their
figures.

A step of a lesson is a section of the lesson's text and a ``Trial``: what runs, and a
function that says what its figures mean. What runs is made of the same work that the
rest of jaxtui gives to an engine: experiments, loops and snippets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from jaxtui.core.model import (
    HOST,
    Case,
    Device,
    Experiment,
    Host,
    Inputs,
    Mode,
    SelectionError,
    Shown,
    Snippet,
    Work,
)
from jaxtui.core.selection import parse_device
from jaxtui.features.lessons.base import Conclusion, Question, Setting
from jaxtui.features.lessons.figures import Figures, MissingError, Outcome
from jaxtui.features.lessons.text import read
from jaxtui.ui.plot import Picture

# What runs.


def case_of(
    op: str, size: int, mode: Mode, device: str = HOST, inputs: Inputs = "device"
) -> Case:
    """The op in float32; without a device in NumPy on the host."""
    inputs = "host" if device == HOST else inputs
    return Case(
        op=op, size=size, dtype="float32", device=device, mode=mode, inputs=inputs
    )


class Code(msgspec.Struct, frozen=True):
    """The setting of a program of the text."""

    budget: float = 3.0
    """Seconds."""
    given: Callable[[Setting], str] = lambda _: ""
    """Lines that stand above the program: ``n = 1000``."""
    device: Callable[[Setting], str | None] = lambda setting: snippet_device(setting)
    """JAX's default device meanwhile; ``None`` leaves it as it is."""
    x64: bool = False
    """True to run with 64-bit types."""
    cpu_devices: Callable[[Setting], int | None] = lambda _: None
    """Simulate so many, in a process of its own."""
    malloc: Literal["fresh", "reused"] | None = None
    """The memory that results get in that process."""
    without: Callable[[Setting], Collection[str]] = lambda _: ()
    """Names of the parts that are left out."""

    def snippet(self, setting: Setting, program: Snippet) -> Snippet:
        """The program with what this setting gives to it."""
        simulated, without = self.cpu_devices(setting), self.without(setting)
        arguments = self.given(setting)
        return msgspec.structs.replace(
            program,
            setup=f"{arguments}\n{program.setup}" if arguments else program.setup,
            parts=tuple(part for part in program.parts if part.name not in without),
            budget_seconds=self.budget,
            device=None if simulated else self.device(setting),
            x64=self.x64,
            cpu_devices=simulated,
            malloc=self.malloc,
        )


def size(setting: Setting) -> str:
    """The line by which a program knows the lesson's size."""
    return f"n = {setting.size:_}"


def snippet_device(setting: Setting, device: str | None = None) -> str | None:
    """The device for a snippet; ``None`` where it is JAX's default anyway."""
    name = device or setting.device
    first = setting.devices[0].name if setting.devices else None
    return None if name == first else name


# A step.


class Trial(msgspec.Struct, frozen=True):
    """The programs of a step and the conclusion; its text is in the lesson's file."""

    conclude: Callable[[Figures], Conclusion]
    """Draws the conclusion from the figures; it may raise ``MissingError``."""
    code: Code | tuple[Code, ...] = Code()
    """The settings of the text's programs."""
    works: Callable[[Setting], tuple[Work, ...]] | None = None
    """Returns the works, where they are neither programs nor one experiment."""
    cases: Callable[[Setting], Mapping[str, Case | None]] = lambda _: {}
    """Cases by the names of their figures; ``None`` for one that this machine cannot
    run."""
    budget: float = 6.0
    """Seconds for the cases."""
    follow: Callable[[Figures, int], Work | None] | None = None
    """Returns the next work, given the number of such runs so far: for a bisection."""
    picture: Callable[[Figures], Picture | None] = lambda _: None
    """Drawn live while the work runs, and in the end."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A prediction, something that runs, a conclusion, and why.

    Its texts are Markdown: paragraphs and code.
    """

    title: str
    setup: str
    """The facts that a prediction needs; it does not hold the answer."""
    claim: str
    """A sentence that the step's figures can confirm or refute."""
    question: Question
    trial: Trial
    explanation: str = ""
    """Shown after the run."""
    source: str = ""
    """The source of the published figures: title, machine, year if known, and URL."""
    programs: tuple[Snippet, ...] = ()
    """The programs; the size and its like are given to them."""
    holds: str = ""
    """The comment on the figures where the claim holds."""
    fails: str = ""
    """The comment on the figures where it does not."""

    def works(self, setting: Setting) -> tuple[Work, ...]:
        """Return the works, to be run one after the other."""
        trial = self.trial
        if trial.works is not None:
            return trial.works(setting)
        if self.programs:
            codes = (trial.code,) if isinstance(trial.code, Code) else trial.code
            pairs = zip(codes, self.programs, strict=True)
            return tuple(code.snippet(setting, program) for code, program in pairs)
        named = trial.cases(setting).values()
        cases = tuple(dict.fromkeys(case for case in named if case is not None))
        return (Experiment(cases=cases, budget_seconds=trial.budget),)

    def figures(self, setting: Setting, outcome: Outcome) -> Figures:
        """Return the figures so far, by name."""
        parts = (part for program in self.programs for part in program.parts)
        raises = [
            part.name for part in parts if isinstance(part, Shown) and part.raises
        ]
        return Figures(setting, outcome, self.trial.cases(setting), raises)

    def conclude(self, setting: Setting, outcome: Outcome) -> Conclusion:
        """Conclude from the figures; the first of them that is missing, because a case
        failed or the run was stopped, is named.
        """
        try:
            conclusion = self.trial.conclude(self.figures(setting, outcome))
        except MissingError as missing:
            problem = [outcome.problem.remark] if outcome.problem else []
            why = problem or [failure.remark for failure in outcome.failures]
            return Conclusion(
                None,
                sentences=(f"Not measured on {setting.device}: {missing}.",),
                reasons=tuple(dict.fromkeys(why)),
            )
        fixed = {True: self.holds, False: self.fails, None: ""}[conclusion.holds]
        sentences = tuple(filter(None, (*conclusion.sentences, fixed)))
        return replace(conclusion, sentences=sentences)


# A lesson.


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """Steps to take one after the other, and how large what they run is."""

    name: str
    """The name as it is typed: ``jaxtui learn clock``."""
    title: str
    """A question or a claim."""
    summary: str
    """A sentence for the list."""
    size_means: str = ""
    """The quantity that the size counts, e.g. ``n of n×n``; empty if the lesson has
    none."""
    needs: str = ""
    """The needs of some of its steps that a machine may not meet."""
    steps: tuple[Step, ...]
    sizes: Mapping[str, int]
    """The default size by platform; ``cpu`` is for every platform that is not named.
    A few seconds per step on a small machine."""
    minimum: int = 1
    maximum: int = 1 << 40
    """Sizes beyond are refused with one sentence."""
    fits: bool = False
    """True if it shows a product that takes much longer than its dispatch, so that its
    default size grows with the device."""

    def size(self, platform: str) -> int:
        """The default size on a platform."""
        return self.sizes.get(platform, self.sizes["cpu"])

    def check_size(self, size: int) -> None:
        """Refuse a size with which the lesson cannot run.

        Raises:
            SelectionError: if it cannot.
        """
        if not self.size_means:
            raise SelectionError(f"The lesson {self.name} has no size to set.")
        if not self.minimum <= size <= self.maximum:
            raise SelectionError(
                f"The size {size} does not fit the lesson {self.name}: it takes"
                f" {self.minimum} to {self.maximum} ({self.size_means})."
            )


def lesson(
    name: str,
    *trials: Trial,
    sizes: Mapping[str, int],
    limits: tuple[int, int] = (1, 1 << 40),
    fits: bool = False,
) -> Lesson:
    """A lesson of its text and what its steps run, in the order of the text."""
    text, sections = read(name)
    steps = tuple(
        Step(**section, trial=trial)
        for section, trial in zip(sections, trials, strict=True)
    )
    minimum, maximum = limits
    return Lesson(
        **text,
        name=name,
        steps=steps,
        sizes=sizes,
        minimum=minimum,
        maximum=maximum,
        fits=fits,
    )


def setting(
    lesson: Lesson,
    devices: Sequence[Device],
    host: Host | None,
    size: int | None = None,
    device: str | None = None,
) -> Setting:
    """Return the checked setting of a lesson.

    Args:
        lesson: which one.
        devices: all that JAX sees.
        host: the machine.
        size: the lesson's size parameter; ``None`` is its default here.
        device: by name; ``None`` is the first accelerator of this process, or else
            the first device.

    Raises:
        SelectionError: if the lesson has no such size, or there is no such device.
    """
    accelerators = (
        candidate.name
        for candidate in devices
        if candidate.addressable and candidate.platform != "cpu"
    )
    chosen = parse_device(device or next(accelerators, None), devices)
    grows_to = lesson.maximum if lesson.fits and size is None else 0
    if size is not None:
        lesson.check_size(size)
    elif lesson.sizes:
        size = lesson.size(chosen.partition(":")[0])
    return Setting(
        size=lesson.minimum if size is None else size,
        device=chosen,
        devices=tuple(devices),
        host=host,
        grows_to=grows_to,
    )
