"""``jaxtui crossover``: from which size on is one way of running an op faster?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, cast

import click

from jaxtui.core import experiments, selection
from jaxtui.core.model import (
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
    SelectionError,
)
from jaxtui.features.crossover.judge import around, result
from jaxtui.features.crossover.messages import BUDGET_SECONDS, GRID_SHARE, experiment
from jaxtui.features.crossover.report import OUTCOME
from jaxtui.ui import words
from jaxtui.ui.commands.common import valued
from jaxtui.ui.commands.engine import Driver
from jaxtui.ui.commands.measures import measures
from jaxtui.ui.commands.options import BUDGET, DEVICE, DTYPE, Parsed, seed

LARGEST_GRID = 64
"""Sizes; a second run closes in, so that more would only cost time."""

USUAL_GRID = 12
"""Sizes without --size; where doubling makes more, they grow by four."""

SMALLEST, SPAN = 16, 2
"""Without --size the grid goes from 16 to twice the op's default size."""

KINDS = (
    ("mode", MODES),
    ("dtype", DTYPES),
    ("precision", PRECISIONS),
    ("inputs", INPUTS),
)
"""The words of a side, by kind; the vocabularies have no word in common."""


WORDS = (
    "such as numpy,jit or float32,bfloat16 or jit/cpu:0,jit/tpu:0; a side is made of a"
    " mode, dtype, device, precision or place for inputs."
)

OF_OPS = ("dtype", "precision")
"""The kinds that only an op of the catalogue has."""


class Side(TypedDict, total=False):
    """The words typed for one side; the rest is common to both."""

    mode: Mode
    dtype: str
    precision: Precision
    inputs: Inputs
    device: str


def _sides(text: str) -> tuple[Side, Side]:
    sides = [_side(part.strip()) for part in text.split(",")]
    if len(sides) != 2 or sides[0] == sides[1]:
        raise SelectionError(f'"{text}" is nothing to compare: name two sides, {WORDS}')
    return sides[0], sides[1]


def _side(text: str) -> Side:
    side: dict[str, str] = {}
    for part in text.split("/"):
        word = part.strip().lower()
        word = selection.DTYPE_ALIASES.get(word, word)
        kind = next((kind for kind, words in KINDS if word in words), "")
        # Which devices there are is known only later.
        if ":" in word or word in ("cpu", "gpu", "tpu", "cuda", "rocm"):
            kind = "device"
        if not kind or kind in side:
            raise SelectionError(
                f'"{text}" is nothing to compare: name two sides, {WORDS}'
            )
        side[kind] = word
    return cast("Side", side)


def _grid(text: str) -> tuple[int, ...]:
    sizes = selection.parse_sizes(text)
    if len(sizes) < 2:
        raise SelectionError(
            f'"{text}" is one size: `jaxtui crossover` searches a range such as'
            " 16..8192."
        )
    if len(sizes) > LARGEST_GRID:
        raise SelectionError(
            f'"{text}" has {len(sizes)} sizes: the search closes in by itself, so'
            f" {LARGEST_GRID} are enough; take a larger factor."
        )
    return tuple(sorted(sizes))


def _named(context: click.Context, option: click.Parameter, op: str | None) -> str:
    if not op:
        raise SelectionError(
            "Name an op, as in `jaxtui crossover matmul`: `jaxtui ops` lists them."
        )
    return op


@measures(
    "crossover",
    OUTCOME,
    "jaxtui crossover matmul",
    "jaxtui crossover matmul --between numpy/float32,jit/bf16",
    record=True,
)
@click.argument("op", required=False, metavar="OP", callback=_named)
@valued(
    "--between",
    "A,B",
    "The two: numpy,jit or float32,bfloat16 or jit/cpu:0,jit/tpu:0.",
    "numpy,jit",
    type=Parsed("sides", _sides, (*MODES, *DTYPES, *PRECISIONS)),
)
@valued(
    "--size",
    "SIZES",
    "The grid: 16..1M (doubling), 16..1Mx10 or 100,1000.  "
    "[default: 16 to 2 × the op's own]",
    type=Parsed("sizes", _grid),
)
@valued(
    "--dtype",
    "DTYPE",
    "Dtype of sides that name none, e.g. jit in jit,numpy/float64.  [default: float32]",
    type=DTYPE,
)
@valued(
    "--device",
    "DEVICE",
    "Device of sides that name none: cpu:0 or tpu:3.  [default: the first]",
    type=DEVICE,
)
@valued(
    "--budget",
    "SECONDS",
    "Time for measuring.",
    f"{BUDGET_SECONDS:g}",
    type=BUDGET,
)
@seed
async def command(
    driver: Driver,
    *,
    op: str,
    between: tuple[Side, Side],
    size: tuple[int, ...] | None,
    dtype: str | None,
    device: str | None,
    budget: float,
    seed: int,
) -> None:
    """Find the size at which one way of running an op becomes faster.

    Also says after how many calls the first one, compile included, pays off.
    """
    shared: Side = {"dtype": dtype or "float32"}
    if device is not None:
        shared["device"] = device

    def possible(ops: Sequence[OpInfo]) -> None:
        info = _info(op, ops)
        named = any(word in side for side in between for word in OF_OPS)
        if info.own and (named or dtype):
            raise SelectionError(
                "The arguments of a function decide its dtype and precision: leave"
                " --dtype out, and name modes, devices or places for inputs in"
                " --between."
            )
        _ascending(size, info)

    session = driver.session
    async with driver.progress():
        await session.ready(possible)
        session.refuse("jax")
    ops, devices = session.state.ops, session.state.devices
    info = _info(op, ops)
    grid = _ascending(size, info)
    first, second = (
        _case(cast("Side", {**shared, **side}), info, grid[0], ops, devices)
        for side in between
    )
    if first == second:
        raise SelectionError(
            f"The two sides are the same ({first.label}): name two different ones,"
            f" {WORDS}"
        )
    for remark in experiments.refusals(Experiment(cases=(first, second)), ops):
        raise SelectionError(words.text(remark))
    driver.warn()
    share = GRID_SHARE * budget
    async with driver.progress():
        job = await session.run(experiment((first, second), grid, share, seed))
        sizes = around(result(session.state, complete=False))
        if sizes and job.outcome == "complete" and not driver.lost:
            rest = experiment((first, second), sizes, budget - share, seed)
            await session.run(rest, "crossover")


def _info(op: str, catalogue: Sequence[OpInfo]) -> OpInfo:
    """The op.

    Raises:
        SelectionError: if it does not exist, or the text names more than an op.
    """
    choices = selection.parse_ops((op,), catalogue, own=True)
    if len(choices) > 1 or choices[0].sizes is not None:
        raise SelectionError(
            f'"{op}" is more than one op: give one, and its sizes as --size.'
        )
    info = experiments.op_info(choices[0].name, catalogue)
    assert info is not None
    return info


def _ascending(grid: tuple[int, ...] | None, info: OpInfo) -> tuple[int, ...]:
    """The grid; without one, from 16 to twice the op's default size.

    Raises:
        SelectionError: if the op has no sizes of its own.
    """
    if grid is None and info.own:
        raise SelectionError(
            "A function of a file is searched over the sizes that its factory takes:"
            " name them, as in --size 64..4096."
        )
    if grid is None:
        low = max(info.minimum, min(SMALLEST, info.default // SMALLEST))
        high = max(low + 1, min(info.maximum, SPAN * info.default))
        doubling = selection.parse_sizes(f"{low}..{high}")
        few = len(doubling) <= USUAL_GRID
        return doubling if few else selection.parse_sizes(f"{low}..{high}x4")
    return grid


def _case(
    side: Side,
    info: OpInfo,
    size: int,
    catalogue: Sequence[OpInfo],
    devices: Sequence[Device],
) -> Case:
    built = experiments.build(
        (selection.SizedOp(info.name, (size,)),),
        dtypes=() if info.own else (side["dtype"],),
        devices=(selection.parse_device(side.get("device"), devices),),
        modes=(side.get("mode", "jit"),),
        inputs=(side.get("inputs", "device"),),
        precisions=(side.get("precision", "default"),),
        catalogue=catalogue,
        known_devices=devices,
    )
    return built.cases[0]
