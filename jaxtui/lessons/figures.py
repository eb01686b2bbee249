"""The figures of a step by name, texts with figures in them, and claims about them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from jaxtui import format as fmt
from jaxtui import stats
from jaxtui.format import Cell
from jaxtui.lessons.base import Setting
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Case, Measurement, Ratio, Summary
from jaxtui.stats import interval_of

VALUE_LENGTH = 40
"""Characters of a value in a row."""

Value = float | str | None
"""A figure that a step computes from others."""


def quotient(above: float | None, below: float | None) -> float | None:
    """How many times ``below`` goes into ``above``; ``None`` where one is missing."""
    if above is None or below is None or below <= 0 or not math.isfinite(above / below):
        return None
    return above / below


def times(value: float | None) -> str:
    """A ratio in a sentence: ``18 times``."""
    return f"{fmt.ratio(value).removesuffix('×')} times"


def decimals(found: Sequence[float], digits: int = 5) -> str:
    """Numbers with so many digits after the point: ``0.25, 0.19661``; ``—`` if none."""
    texts = (f"{one:.{digits}f}".rstrip("0").rstrip(".") for one in found)
    return ", ".join(texts) or fmt.ABSENT


def near(found: Sequence[float], expected: Sequence[float], tolerance: float) -> bool:
    """Whether there are as many numbers as expected, none further off than this."""
    return len(found) == len(expected) and all(
        math.isfinite(one) and abs(one - other) <= tolerance
        for one, other in zip(found, expected, strict=True)
    )


def minutes(seconds: float | None) -> Cell:
    """A time that may be hours."""
    if seconds is None or seconds < 120:
        return fmt.figure(seconds)
    return f"{fmt.duration(seconds)} {'h' if seconds >= 3600 else 'min'}"


FORMATS: Mapping[str, Callable[[float | None], Cell]] = {
    "s": fmt.figure,
    "min": minutes,
    "ratio": fmt.ratio,
    "times": times,
    "count": lambda value: fmt.count(None if value is None else round(value)),
    "bytes": partial(fmt.figure, quantity="memory"),
    "flops": partial(fmt.figure, quantity="FLOP/s"),
    "bandwidth": partial(fmt.figure, quantity="B/s"),
    "percent": fmt.percent,
    "error": fmt.error,
    "significant": lambda v: fmt.ABSENT if v is None else fmt.significant(v, 2),
}
"""How a text may want a number; anything else is a format of Python's."""

_CHOICE = re.compile(
    r"\{([^{}?]+)\?((?:[^{}:]|\{[^{}]*\})*)(?::((?:[^{}]|\{[^{}]*\})*))?\}"
)
FIELD = re.compile(r"\{([^{}]+?)(?: / ([^{}]+?))?(?::([^{}: ]+))?\}")


class Figures:
    """What a step yielded, by name: cases, timings, values, and what follows from them.

    ``{name}`` in a text is a time with its unit, or what a value reads; ``{a / b}`` is
    how many times b goes into a. After a colon stands how it is written, as in
    ``{a / b:times}``: one of ``FORMATS``, ``d3`` for numbers with three digits after
    the point, the length of a longer value, or a format of Python's.
    ``{accelerated?one:other}`` is one text or the other; the second may be missing, and
    ``{:}`` is a colon in them.
    """

    def __init__(
        self, setting: Setting, outcome: Outcome, cases: Mapping[str, Case | None]
    ) -> None:
        self.setting = setting
        self.outcome = outcome
        self.cases = cases
        self.derived: dict[str, Value] = {
            "size": setting.size,
            "device": setting.device,
            "accelerated": setting.accelerated,
        }

    def __getitem__(self, name: str) -> float | None:
        """A number, or seconds; ``None`` where there is none."""
        if name in self.derived:
            found = self.derived[name]
            return found if isinstance(found, (int, float)) else None
        if (measured := self.measured(name)) is not None:
            return measured.ready.median if measured.ready else None
        if name in self.outcome.timings:
            return self.outcome.seconds(name)
        return self.outcome.number(name)

    def __contains__(self, name: str) -> bool:
        """Whether there is a value, a time, or an error in the place of a value."""
        return name in self.outcome.values or self[name] is not None

    def clock(self, name: str) -> Summary | None:
        """What was timed in rounds; ``None`` of what is not known or was not."""
        if (measured := self.measured(name)) is not None:
            return measured.ready
        timing = self.outcome.timings.get(name)
        return None if timing is None or timing.once else timing.seconds

    def ratio(self, above: str, below: str, form: str = "ratio") -> str:
        """How many times ``below`` goes into ``above``: ``18× (16–20)``.

        Between what that lies is said where both were timed in rounds, unless both ends
        read as the figure does. ``form`` is ``ratio`` or ``times``.
        """
        shown = _written(quotient(self[above], self[below]), form)
        one, other = self.clock(above), self.clock(below)
        found = None
        # What a step computes of others may have the name of what was timed.
        if one and other and not {above, below} & self.derived.keys():
            found = stats.ratio(interval_of(one), interval_of(other))
        if found is None:
            return str(shown)
        ends = Ratio(**found._asdict())
        if fmt.ratio(ends.low) == fmt.ratio(ends.high) and not ends.uncertain:
            return str(shown)
        word = f"{fmt.UNCERTAIN}, " if ends.uncertain else ""
        return f"{shown} ({word}{fmt.ratio_ends(ends)})"

    def measured(self, name: str) -> Measurement | None:
        case = self.cases.get(name)
        return next((m for m in self.outcome.measurements if m.case == case), None)

    def failure_of(self, name: str) -> str:
        """Why a figure of a case is missing; empty if nothing went wrong.

        What is derived of a case has the case's name at its beginning.
        """
        names = [one for one in self.cases if f"{name} ".startswith(f"{one} ")]
        case = self.cases[max(names, key=len)] if names else None
        failures = reversed(self.outcome.failures)
        return next((one.error for one in failures if one.case == case), "")

    def numbers(self, name: str) -> tuple[float, ...]:
        value = self.outcome.values.get(name)
        return () if value is None else value.numbers

    def text(self, name: str) -> str | None:
        """What a value reads, or its error."""
        value = self.outcome.values.get(name)
        return None if value is None else value.error or value.text

    def shown(self, name: str, length: int = VALUE_LENGTH) -> str:
        """The same in one line; ``—`` where there is none."""
        text = self.text(name)
        return fmt.ABSENT if text is None else fmt.shorten(text, length)

    def all_true(self, *names: str) -> bool:
        """Whether all of them are ``True``, or another number but 0."""
        return all(bool(self[name]) for name in names)

    def succeeded(self, name: str) -> bool:
        """Whether an expression was run and did not raise."""
        value = self.outcome.values.get(name)
        return value is not None and value.error is None

    def failed_with(self, name: str, kind: str, text: str = "") -> bool:
        """Whether an expression raised an error of this type with this text in it."""
        value = self.outcome.values.get(name)
        if value is None or value.error is None:
            return False
        return value.error.startswith(kind) and text in f"{value.error}\n{value.detail}"

    def applies(self, conditions: str) -> bool:
        """Whether all of these are met: ``holds, not accelerated``; or a figure."""
        for condition in filter(None, conditions.split(", ")):
            name = condition.removeprefix("not ")
            found = bool(self.derived[name]) if name in self.derived else name in self
            if found == (name != condition):
                return False
        return True

    def fill(self, text: str) -> str:
        """A text with its figures in place of the braces."""
        return "".join(map(str, self.parts(text)))

    def parts(self, text: str) -> tuple[Cell, ...]:
        """The same, its figures apart from the words."""
        while choice := _CHOICE.search(text):  # the innermost ones first
            chosen = choice[2] if self.applies(choice[1]) else choice[3]
            text = f"{text[: choice.start()]}{chosen or ''}{text[choice.end() :]}"
        words, found = FIELD.split(text.replace("{:}", ":")), list[Cell]()
        for place in range(0, len(words) - 1, 4):
            found += [words[place], self._field(*words[place + 1 : place + 4])]
        return tuple(filter(None, (*found, words[-1])))

    def _field(self, name: str, below: str | None, form: str | None) -> Cell:
        if published := fmt.quoted(name):
            return published
        if below is not None and form in (None, "ratio", "times"):
            return self.ratio(name, below, form or "ratio")
        if below is not None:
            return _written(quotient(self[name], self[below]), form or "ratio")
        if form is None and name in self.derived:
            found = self.derived[name]
            if found is None:
                return fmt.ABSENT
            return f"{found:g}" if isinstance(found, float) else str(found)
        if name in self.outcome.values and (form is None or form.isdigit()):
            return self.shown(name, int(form or VALUE_LENGTH))
        if form is not None and re.fullmatch(r"d\d", form):
            return decimals(self.numbers(name), int(form[1:]))
        return _written(self[name], form or "s")


def _written(value: float | None, form: str) -> Cell:
    if form in FORMATS:
        return FORMATS[form](value)
    return fmt.ABSENT if value is None else format(value, form)


# What is claimed.


class Holds:
    """A claim that figures confirm or refute, by what a function says of them."""

    def __init__(
        self,
        holds: Callable[[Figures], bool | None],
        *names: str,
        numbers: bool = True,
    ) -> None:
        self.holds = holds
        """Called once nothing is missing; ``None`` if the claim stays open."""
        self.names = names
        """The figures that it is about."""
        self.numbers = numbers
        """They must be numbers; an error in their place is as good as nothing."""

    def missing(self, figures: Figures) -> list[str]:
        if self.numbers:
            return [name for name in self.names if figures[name] is None]
        return [name for name in self.names if name not in figures]


class AtLeast(Holds):
    """One figure is at least so many times another."""

    def __init__(self, above: str, factor: float, below: str) -> None:
        super().__init__(
            lambda f: (f[above] or 0.0) >= factor * (f[below] or 0.0), above, below
        )


class AtMost(Holds):
    """One figure is at most so many times another."""

    def __init__(self, above: str, factor: float, below: str) -> None:
        super().__init__(
            lambda f: (f[above] or 0.0) <= factor * (f[below] or 0.0), above, below
        )


class Gives(Holds):
    """The value of an expression reads so."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(lambda f: f.text(name) == text, name, numbers=False)


class Equals(Holds):
    """The numbers of a value are these, none further off than a tolerance."""

    def __init__(
        self, name: str, expected: Sequence[float], tolerance: float = 0.0
    ) -> None:
        super().__init__(
            lambda f: near(f.numbers(name), expected, tolerance), name, numbers=False
        )


class Below(Holds):
    """A figure is smaller than a limit."""

    def __init__(self, name: str, limit: float) -> None:
        super().__init__(lambda f: (f[name] or 0.0) < limit, name)


class Present(Holds):
    """Something came of these expressions, be it an error; nothing more is claimed."""

    def __init__(self, *names: str) -> None:
        super().__init__(lambda _: True, *names, numbers=False)


class Succeeds(Holds):
    """None of these expressions raises."""

    def __init__(self, *names: str) -> None:
        super().__init__(lambda f: all(map(f.succeeded, names)), *names, numbers=False)


class Raises(Holds):
    """An expression raises an error of this type, with this text in it."""

    def __init__(self, name: str, kind: str, text: str = "") -> None:
        super().__init__(lambda f: f.failed_with(name, kind, text), name, numbers=False)


class IsTrue(Holds):
    """All these expressions give ``True``."""

    def __init__(self, *names: str) -> None:
        super().__init__(lambda f: f.all_true(*names), *names, numbers=False)


class All(Holds):
    """Several claims hold together."""

    def __init__(self, *claims: Holds) -> None:
        super().__init__(lambda f: all(claim.holds(f) for claim in claims))
        self.claims = claims

    def missing(self, figures: Figures) -> list[str]:
        found = (name for claim in self.claims for name in claim.missing(figures))
        return list(dict.fromkeys(found))


Answer = Callable[[Figures], int | None]


def bracket(above: str, below: str, *limits: float) -> Answer:
    """Which of the choices a ratio is, where they part at these limits."""

    def answer(figures: Figures) -> int | None:
        found = quotient(figures[above], figures[below])
        return None if found is None else sum(found >= limit for limit in limits)

    return answer


def fastest(*names: str) -> Answer:
    """Which of the choices took the shortest time."""

    def answer(figures: Figures) -> int | None:
        known = {name: seconds for name in names if (seconds := figures[name])}
        return names.index(min(known, key=known.__getitem__)) if known else None

    return answer
