"""What the shown expressions of a step gave, read for its rows and its claim."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxtui import format as fmt
from jaxtui.lessons.base import Setting
from jaxtui.lessons.outcome import Outcome

TEXT_LENGTH = 40
"""Characters of a value in a row."""


def shown(outcome: Outcome, name: str, length: int = TEXT_LENGTH) -> str:
    """A value, or the error instead of it, in one line; ``—`` where there is none."""
    text = outcome.text(name)
    return fmt.ABSENT if text is None else shortened(text, length)


def shortened(text: str, length: int = TEXT_LENGTH) -> str:
    """A text in one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


def failure(outcome: Outcome, name: str) -> str | None:
    """The error that an expression ended in; ``None`` where there was none."""
    value = outcome.values.get(name)
    return None if value is None else value.error


def gave(outcome: Outcome, name: str) -> bool:
    """Whether an expression was run and did not raise."""
    value = outcome.values.get(name)
    return value is not None and value.error is None


def raised(outcome: Outcome, name: str, kind: str, text: str = "") -> bool:
    """Whether an expression raised an error of this type with this text in it."""
    value = outcome.values.get(name)
    if value is None or value.error is None:
        return False
    return value.error.startswith(kind) and text in f"{value.error}\n{value.detail}"


def numbers(outcome: Outcome, name: str) -> tuple[float, ...]:
    """All numbers of a value; empty where it has none."""
    value = outcome.values.get(name)
    return () if value is None else value.numbers


def true(outcome: Outcome, *names: str) -> bool:
    """Whether all these expressions gave ``True``, or another number but 0."""
    return all(bool(outcome.number(name)) for name in names)


def near(found: Sequence[float], expected: Sequence[float], tolerance: float) -> bool:
    """Whether there are as many numbers as expected, none further off than this."""
    return len(found) == len(expected) and all(
        math.isfinite(one) and abs(one - other) <= tolerance
        for one, other in zip(found, expected, strict=True)
    )


def decimals(found: Sequence[float], digits: int = 5) -> str:
    """Numbers with so many digits after the point: ``0.25, 0.19661``; ``—`` if none."""
    texts = (f"{one:.{digits}f}".rstrip("0").rstrip(".") for one in found)
    return ", ".join(texts) or fmt.ABSENT


def whole(value: float | None) -> str:
    """A number without a fraction, thousands set apart; ``—`` where there is none."""
    return fmt.count(None if value is None else round(value))


def absent(outcome: Outcome, *names: str) -> list[str]:
    """Those of the names of which there is neither a value nor a time."""
    return [
        name
        for name in names
        if name not in outcome.values and name not in outcome.timings
    ]


def chosen(setting: Setting, device: str | None = None) -> str | None:
    """The device for a snippet, the lesson's own if none is named.

    ``None`` where it is JAX's default anyway: then no line of the script is about it.
    """
    wanted = device or setting.device
    first = setting.devices[0].name if setting.devices else None
    return None if wanted == first else wanted
