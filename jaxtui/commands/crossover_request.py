"""What ``jaxtui crossover`` was asked for, checked as far as that needs no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, cast

import msgspec

from jaxtui import selection
from jaxtui.model import (
    DTYPES,
    INPUTS,
    MODES,
    PRECISIONS,
    Case,
    Device,
    Experiment,
    Inputs,
    Mode,
    OpInfo,
    Precision,
)
from jaxtui.selection import SelectionError

GROWTH = 4
"""From one size of the grid to the next, unless the range has a factor of its own."""

LARGEST_GRID = 64
"""Sizes; the search closes in by itself, so that more would only cost time."""

SMALLEST, SPAN = 16, 8
"""Without --sizes the grid goes from 16 to so many times the op's default size."""

BUDGET_SECONDS = 60.0

ACCEPTED = (
    "name two, such as numpy,jit or float32,bfloat16 or jit/cpu:0,jit/tpu:0; a side is "
    "made of a mode, dtype, device, precision or place for inputs"
)


class Side(TypedDict, total=False):
    """What was said of one side; the rest is what both have in common."""

    mode: Mode
    dtype: str
    precision: Precision
    inputs: Inputs
    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of a search; op and devices wait for the engine's lists."""

    op: str
    sides: tuple[Side, Side]
    grid: tuple[int, ...] | None = None
    """``None`` means from 16 to some times the op's default size."""
    dtype: str = "float32"
    device: str | None = None
    """``None`` means the first."""
    budget: float = BUDGET_SECONDS
    seed: int = 0

    @classmethod
    def typed(
        cls,
        *,
        op: str | None,
        between: str,
        sizes: str | None,
        dtype: str,
        device: str | None,
        budget: str | None,
        seed: int,
    ) -> Request:
        """Reads the texts of a command line.

        Raises:
            SelectionError: if one of them makes no sense.
        """
        if not op:
            raise SelectionError(
                "Name an op, as in `jaxtui crossover matmul`: `jaxtui ops` lists them."
            )
        dtypes = selection.parse_dtypes(dtype)
        if len(dtypes) > 1:
            raise SelectionError(
                f'--dtype "{dtype}" names several: to compare two, say '
                f"--between {dtypes[0]},{dtypes[1]}."
            )
        return cls(
            op=op,
            sides=_sides(between),
            grid=None if sizes is None else _grid(sizes),
            dtype=dtypes[0],
            device=device,
            budget=selection.parse_budget(budget or "") or BUDGET_SECONDS,
            seed=seed,
        )

    def info(self, catalogue: Sequence[OpInfo]) -> OpInfo:
        """The op.

        Raises:
            SelectionError: if it does not exist, or the text names more than an op.
        """
        choices = selection.parse_ops((self.op,), catalogue)
        if len(choices) > 1 or choices[0].sizes is not None:
            raise SelectionError(
                f'"{self.op}" is more than one op: give one, and its sizes as --sizes.'
            )
        return next(op for op in catalogue if op.name == choices[0].name)

    def cases(
        self, catalogue: Sequence[OpInfo], devices: Sequence[Device]
    ) -> tuple[Case, Case]:
        """The two sides, at the smallest size.

        Raises:
            SelectionError: if the op lacks what a side asks for, a device does not
                exist, or both sides come to the same.
        """
        info = self.info(catalogue)
        size = self.sizes(info)[0]
        first, second = (
            self._case(side, info, size, catalogue, devices) for side in self.sides
        )
        if first == second:
            raise SelectionError(
                f"Both sides are {first.label}, and nothing crosses itself: {ACCEPTED}."
            )
        wrong = selection.problems(Experiment(cases=(first, second)), catalogue)
        if wrong:
            raise SelectionError(wrong[0])
        return first, second

    def sizes(self, info: OpInfo) -> tuple[int, ...]:
        """The coarse grid, ascending.

        Raises:
            SelectionError: if the op has no such small sizes.
        """
        if self.grid is None:
            low = max(info.minimum, min(SMALLEST, info.default // SMALLEST))
            high = max(low + 1, min(info.maximum, SPAN * info.default))
            return selection.parse_sizes(f"{low}..{high}x{GROWTH}")
        if self.grid[0] < info.minimum:
            raise SelectionError(
                f"{info.name} has no size {self.grid[0]}; the smallest is "
                f"{info.minimum}. The size is the {info.size_means}."
            )
        return self.grid

    def _case(
        self,
        side: Side,
        info: OpInfo,
        size: int,
        catalogue: Sequence[OpInfo],
        devices: Sequence[Device],
    ) -> Case:
        device = side.get("device", self.device)
        named = None if device is None else selection.parse_devices(device, devices)
        if named is not None and len(named) > 1:
            raise SelectionError(
                f'"{device}" is {len(named)} devices: a side of a crossover has one, '
                f"such as {named[0]}."
            )
        built = selection.build(
            (selection.OpChoice(info.name, (size,)),),
            dtypes=(side.get("dtype", self.dtype),),
            devices=named,
            modes=(side.get("mode", "jit"),),
            inputs=(side.get("inputs", "device"),),
            precisions=(side.get("precision", "default"),),
            catalogue=catalogue,
            known_devices=devices,
        )
        return msgspec.structs.replace(built.cases[0], size=size)


def _sides(text: str) -> tuple[Side, Side]:
    sides = [_side(part.strip()) for part in text.split(",")]
    if len(sides) != 2:
        number = "one side only" if len(sides) == 1 else f"{len(sides)} sides"
        raise SelectionError(f'"{text}" has {number}: {ACCEPTED}.')
    first, second = sides
    if first == second:
        raise SelectionError(
            f'"{text}" names the same twice, and nothing crosses itself: {ACCEPTED}.'
        )
    return first, second


def _side(text: str) -> Side:
    side: Side = {}
    for word in text.split("/"):
        field, value = _field(word.strip().lower(), text)
        if field in side:
            raise SelectionError(f'"{text}" has two {field}s: {ACCEPTED}.')
        side = cast("Side", {**side, field: value})
    return side


def _field(word: str, side: str) -> tuple[str, str]:
    """What kind of thing a word is; the vocabularies have none in common."""
    word = selection.DTYPE_ALIASES.get(word, word)
    known = (
        ("mode", MODES),
        ("dtype", DTYPES),
        ("precision", PRECISIONS),
        ("inputs", INPUTS),
    )
    for field, words in known:
        if word in words:
            return field, word
    # Which devices there are is known only later.
    if ":" in word or word in ("cpu", "gpu", "tpu", "cuda", "rocm"):
        return "device", word
    said = f'"{word}" in "{side}"' if word and word != side else f'"{side}"'
    if not word:
        raise SelectionError(f"A side of --between is empty: {ACCEPTED}.")
    raise SelectionError(f"There is no {said} to compare: {ACCEPTED}.")


def _grid(text: str) -> tuple[int, ...]:
    sizes = selection.parse_sizes(text)
    if len(sizes) < 2:
        raise SelectionError(
            f'"{text}" is one size: a crossover is searched for in a range such as '
            "16..8192."
        )
    only_range = ".." in text and "," not in text
    own_factor = any(sign in text for sign in "x×*")
    if only_range and not own_factor:
        sizes = selection.parse_sizes(f"{text}x{GROWTH}")
    if len(sizes) > LARGEST_GRID:
        raise SelectionError(
            f'"{text}" has {len(sizes)} sizes: the search closes in by itself, so that '
            f"{LARGEST_GRID} are enough; take a larger factor."
        )
    return tuple(sorted(sizes))
