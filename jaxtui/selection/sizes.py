"""Sizes as people type them."""

from __future__ import annotations

import itertools
import re
from decimal import Decimal

MAXIMUM_SIZE = 10**15
"""No machine holds an array of more elements; a larger number is a slip of the hand."""

MAXIMUM_SIZES = 1000
"""More sizes than this are a slip of the hand, too."""

SMALLEST_FACTOR = Decimal("1.01")

SIZES_ACCEPTED = (
    "a size is a positive whole number such as 4096, 4k (4 × 1024) or 1e6, "
    "a doubling range such as 256..4096, a range with a factor of its own such as "
    "256..4096x1.41, or a list such as 1000,2000"
)
"""The second half of every sentence about a size."""

_FACTORS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_FACTOR = re.compile(r"(.*?)\s*[x×*]\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*")
_NUMBER = re.compile(
    r"([0-9]{1,40}(?:\.[0-9]{1,40})?(?:e\+?[0-9]{1,3})?)([kmg]?)", re.IGNORECASE
)


class SelectionError(ValueError):
    """What was typed selects nothing; the text is one sentence for people."""


def parse_sizes(text: str) -> tuple[int, ...]:
    """The sizes that a text such as ``256..4096,1e6`` names, in order, each once.

    ``k``, ``M`` and ``G`` are powers of 1024, so that ``4k`` is the 4096 that matrix
    sizes usually are and that the axis of a plot calls 4k. A range doubles from its
    start, or grows by the factor behind it, rounded to whole numbers, and always
    includes its end: ``300..1000`` is 300, 600, 1000, and ``100..200x1.5`` is 100, 150,
    200.

    Raises:
        SelectionError: naming the part that is no size, and what is accepted.
    """
    if not text.strip():
        raise SelectionError(f"The size is empty: {SIZES_ACCEPTED}.")
    sizes: list[int] = []
    for part in text.split(","):
        if not part.strip():
            raise SelectionError(
                f'"{text.strip()}" has an empty place in its list: {SIZES_ACCEPTED}.'
            )
        sizes.extend(_parse_part(part.strip()))
    return tuple(dict.fromkeys(sizes))


def _parse_part(part: str) -> list[int]:
    start, dots, end = part.partition("..")
    if not dots:
        return [_parse_number(part, part)]
    end, factor = _parse_factor(end, part)
    low, high = _parse_number(start.strip(), part), _parse_number(end.strip(), part)
    if low > high:
        raise SelectionError(
            f'The range "{part}" runs downwards: write {end.strip()}..{start.strip()}.'
        )
    grown = (round(low * factor**step) for step in itertools.count())
    sizes = itertools.takewhile(lambda size: size < high, grown)
    found = list(itertools.islice(sizes, MAXIMUM_SIZES))
    if len(found) == MAXIMUM_SIZES:
        raise SelectionError(
            f'The range "{part}" has more than {MAXIMUM_SIZES} sizes: '
            "take a larger factor."
        )
    return [*found, high]  # near 1 some are the same: the caller keeps each once


def _parse_factor(end: str, part: str) -> tuple[str, Decimal]:
    """The end of a range without its factor, and the factor; 2 if it has none."""
    match = _FACTOR.fullmatch(end)
    if match is None:
        return end, Decimal(2)
    factor = Decimal(match[2])
    if factor < SMALLEST_FACTOR:
        raise SelectionError(
            f'The factor of the range "{part}" is too small: '
            f"the smallest accepted is {SMALLEST_FACTOR}."
        )
    return match[1], factor


def _parse_number(text: str, part: str) -> int:
    """One number of ``part``, which is what the sentence quotes."""
    match = _NUMBER.fullmatch(text)
    value = Decimal(match[1]) * _FACTORS[match[2].lower()] if match else Decimal(0)
    if value < 1 or value != value.to_integral_value():
        raise SelectionError(f'"{part}" is no size: {SIZES_ACCEPTED}.')
    if value > MAXIMUM_SIZE:
        raise SelectionError(
            f'The size "{part}" is larger than any machine can hold: '
            f"the largest accepted is 1e15."
        )
    return int(value)
