"""Step 1: The same product in four formats."""

from __future__ import annotations

from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.lessons import words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.digits.formats import FORMATS
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Case, Experiment, Measurement, Work

WORSE = 2.0
"""How many times larger the error of each next format must be."""

_MUCH = 1.25
"""Times that differ by less count as about the same."""


def _products(setting: Setting) -> tuple[Work, ...]:
    compared = tuple(
        Case(
            op="matmul",
            size=setting.size,
            dtype=dtype,
            precision="highest",
            device=setting.device,
            mode="jit",
        )
        for dtype in FORMATS
    )
    return (Experiment(cases=compared, budget_seconds=8.0),)


def _cost_and_error(setting: Setting, outcome: Outcome) -> Conclusion:
    found = {dtype: outcome.find(dtype=dtype) for dtype in FORMATS}
    rows = tuple(
        Row(
            what=dtype,
            yours=words.duration(words.ready(one)),
            remark=words.trouble(outcome, dtype=dtype) or _memory_and_error(one),
        )
        for dtype, one in found.items()
    )
    errors = {
        dtype: one.error_vs_float64
        for dtype, one in found.items()
        if one and one.error_vs_float64 is not None
    }
    seconds = {
        dtype: time for dtype, one in found.items() if (time := words.ready(one))
    }
    if len(errors) < 2 or "float32" not in seconds:
        return words.inconclusive(setting, outcome, rows, "the products", many=True)
    holds = all(
        wider * WORSE <= narrower for wider, narrower in pairwise(errors.values())
    )
    first, last = next(iter(errors)), list(errors)[-1]
    takeaway = [
        f"From {first} to {last} the error grew from {fmt.error(errors[first])} to "
        f"{fmt.error(errors[last])}, and the three matrices shrank from "
        f"{_memory(found[first])} to {_memory(found[last])}.",
        _about_times(setting, seconds),
    ]
    if not holds:
        takeaway.insert(
            1,
            f"Not every step made it {WORSE:g} times larger, as the claim says it "
            "would: the device may compute in another format than it stores.",
        )
    fastest = min(seconds, key=seconds.__getitem__)
    return Conclusion(
        rows=rows,
        holds=holds if len(errors) == len(FORMATS) else None,
        takeaway=" ".join(takeaway),
        answer=FORMATS.index(fastest),
    )


def _memory_and_error(one: Measurement | None) -> str:
    if one is None:
        return ""
    return f"{_memory(one)}, error {fmt.error(one.error_vs_float64)}"


def _memory(one: Measurement | None) -> str:
    return fmt.bytes_text(one.bytes if one else None)


def _about_times(setting: Setting, seconds: dict[str, float]) -> str:
    """How each format's time stands to that of float32."""
    single = seconds["float32"]
    faster = [name for name, time in seconds.items() if time * _MUCH < single]
    slower = [name for name, time in seconds.items() if time > single * _MUCH]
    said = [f"float32 took {words.duration(single)} on {setting.device}."]
    if faster:
        parts = [f"{name} {words.ratio(single, seconds[name])}" for name in faster]
        said.append(f"Faster than it: {words.listing(parts)}.")
    if slower:
        parts = [f"{name} {words.ratio(seconds[name], single)}" for name in slower]
        said.append(f"Slower: {words.listing(parts)}.")
    if {"float16", "bfloat16"} & set(slower):
        said.append(
            "Fewer bytes are no gain where the chip has no arithmetic for the format "
            "and converts every number first."
        )
    elif not faster:
        said.append("So fewer digits save memory here, and no time.")
    return " ".join(said)


STEP = Step(
    title="The same product in four formats",
    prose="""\
A format with fewer digits takes less memory and less bandwidth, and on chips
made for it the arithmetic is faster too. What it costs is precision.

Here the same product of two n×n matrices runs in float64, float32, float16
and bfloat16. The table has the time, the bytes of its three matrices, and the
error: the largest deviation from the product in float64 of the same inputs,
relative to the largest element.

All products are asked for in full precision, `precision="highest"`. By
default a TPU or GPU may round the inputs of a float32 product first, which is
faster and a different question. float64 runs with x64 switched on for it.""",
    question=Question(
        text="Which format will be the fastest on this device?",
        choices=FORMATS,
    ),
    claim="Each format with fewer digits has at least twice the error.",
    works=_products,
    conclude=_cost_and_error,
)
