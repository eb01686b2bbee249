"""The same work for long enough: does a device keep its pace?

A TPU is also asked for its own health: throttling and the links between the chips.
libtpu's SDK is read in a process of its own and for a limited time. It may crash on
import, it should not be loaded beside the libtpu that JAX uses, and where it looks for
a metadata server that is not there, every metric takes half a minute.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any

import jax
import msgspec

from jaxtui import child
from jaxtui import format as fmt
from jaxtui.measure import children
from jaxtui.measure.check import compute, tpu_sdk, work
from jaxtui.measure.check.base import (
    Context,
    by_device,
    reading,
)
from jaxtui.measure.check.tpu_sdk import MARK
from jaxtui.measure.children import Exit
from jaxtui.model import CheckLevel, CheckRead, Expected, Reading, RunEvent
from jaxtui.signals import signal_name
from jaxtui.stats import median, rounds_interval

AT_MOST = 1.10
"""The last quarter over the first, on an accelerator without other work."""

AT_MOST_ON_CPU = 1.5
"""On a CPU other programs, and clocks that go up and down, move it more than that."""

BOUND = "jaxtui's own bound: the last quarter takes at most {share:.0%} longer"

TOO_SHORT = " Chips throttle after tens of seconds: level full goes on for longer."

LEAST_BURSTS = 4
"""One for each quarter."""

SDK = "libtpu's SDK"

SDK_SECONDS: Mapping[CheckLevel, float] = {"quick": 5.0, "full": 20.0}

UNUSABLE = 10
"""The score of a link that is (description of the metric in libtpu)."""

PROBLEMS = (("persistent minor", 6, UNUSABLE), ("transient", 1, 6))
"""Of other links, with the scores from where to where."""

_SCORE = re.compile(r"(?:(?P<place>.*):)?\s*(?P<score>\d+(?:\.\d+)?)\s*")

Scores = Sequence[tuple[str, float]]
"""Where, which may be empty, and how much; at least one."""

_of_machine = partial(reading, "steady", None)


def test(context: Context) -> Iterator[RunEvent]:
    """One product over and over, on all devices at once.

    Of devices that share silicon only the first works: they would slow each other down.
    """
    others = "shares the host's cores with"
    yield from by_device(context, "working steadily", _pace, others=others)
    if not context.stop():
        yield from (CheckRead(reading=one) for one in sdk_readings(context))


def _pace(context: Context, device: jax.Device, seconds: float) -> Iterator[Reading]:
    product = compute.natural_product(context, device, "steady {}")
    begin = perf_counter()
    turns = work.throughput(product, seconds, context.stop, LEAST_BURSTS)
    if not turns.done:
        return
    elapsed = perf_counter() - begin
    disturbed = work.disturbance(turns.meter, device)
    brief = context.check.level == "quick" and device.platform != "cpu"
    yield compare_quarters(
        turns.means,
        elapsed,
        product.what,
        device,
        disturbed,
        TOO_SHORT if brief and not disturbed else "",
    )


def compare_quarters(
    means: Sequence[float],
    elapsed: float,
    what: str,
    device: jax.Device,
    disturbed: str = "",
    remark: str = "",
) -> Reading:
    """How the last quarter compares with the first."""
    quarter = len(means) // 4
    first, last = median(means[:quarter]), median(means[-quarter:])
    most = AT_MOST_ON_CPU if device.platform == "cpu" else AT_MOST
    bound = Expected(value=most, kind="most", source=BOUND.format(share=most - 1))
    return reading(
        "steady",
        device,
        what,
        rounds_interval([each / first for each in means[-quarter:]]),
        # What others do to the cores is no fault of theirs.
        expected=None if disturbed else bound,
        disturbed=disturbed,
        said=(
            f"{fmt.seconds(first)} per call in the first quarter of"
            f" {fmt.seconds(elapsed)}, {fmt.seconds(last)} in the last.{remark}"
        ),
    )


# What a TPU says of its own health.


def sdk_readings(context: Context) -> Iterator[Reading]:
    """The throttle score and the link health of this host's chips.

    Nothing where no TPU takes part, or the test is stopped; one skipped reading where
    there is no answer.
    """
    if not any(device.platform == "tpu" for device in context.devices):
        return
    limit = SDK_SECONDS[context.check.level]
    command = [*child.command(tpu_sdk.__name__), str(int(limit) + 1), *METRICS]
    # Without questions to a metadata server, unless asked for.
    environment = {"TPU_SKIP_MDS_QUERY": "1", **os.environ}
    ended = children.run(command, limit, environment=environment, stop=context.stop)
    if not context.stop():
        yield from parse_metrics(ended, limit)


def parse_metrics(ended: Exit, limit_seconds: float) -> Iterator[Reading]:
    answer = _answer(ended.output)
    if ended.code == 0 and answer is not None:
        for metric, (what, facts) in METRICS.items():
            yield _of_metric(metric, what, answer.get(metric), facts)
        return
    why = f"It did not answer within {limit_seconds:g} s."
    if ended.code is not None:
        why = _why(ended.code, ended.errors)
    yield _of_machine(SDK, skipped=why, detail=ended.errors.strip())


def throttling(scores: Scores) -> dict[str, Any]:
    """0 is no throttling, 1 to 10 are 10 to 100 %."""
    hot = [
        f"{place or f'chip {index}'} by {score * 10:g} %"
        for index, (place, score) in enumerate(scores)
        if score > 0
    ]
    if hot:
        return {"doubt": f"The TPU throttles itself: {', '.join(hot)}."}
    return {"said": f"None of {len(scores)} is throttled."}


def links(scores: Scores) -> dict[str, Any]:
    """0 is a link without problems, 10 one that is unusable."""

    def named(least: float, below: float) -> str:
        return ", ".join(
            f"{place or f'link {index}'} ({score:g})"
            for index, (place, score) in enumerate(scores)
            if least <= score < below
        )

    facts = {"said": f"{len(scores)} links; 0 is one without problems."}
    if unusable := named(UNUSABLE, math.inf):
        facts["fault"] = f"Links between chips are unusable: {unusable}."
    found = [(kind, named(*between)) for kind, *between in PROBLEMS]
    if doubts := [f"{kind} problems on {these}" for kind, these in found if these]:
        facts["doubt"] = f"Links between chips have {' and '.join(doubts)}."
    return facts


METRICS: Mapping[str, tuple[str, Callable[[Scores], dict[str, Any]]]] = {
    "tpu_throttle_score": ("throttle score", throttling),
    "ici_link_health": ("link health", links),
}
"""By the name that libtpu has for each: what its reading is called, and says."""


def _of_metric(
    metric: str,
    what: str,
    values: object,
    facts: Callable[[Scores], dict[str, Any]],
) -> Reading:
    why, scores = "", list[tuple[str, float]]()
    if isinstance(values, str):
        why = f"libtpu failed to read {metric}: {values}"
    elif not isinstance(values, list):
        why = f"This libtpu does not have {metric}."
    elif not values:
        why = f"libtpu says nothing about {metric}."
    else:
        for value in values:
            if (match := _SCORE.fullmatch(str(value))) is None:
                why = f"libtpu says {str(value)!r}, which is no score."
                break
            scores.append(((match["place"] or "").strip(), float(match["score"])))
    if why:
        return _of_machine(what, skipped=why)
    return _of_machine(what, max(score for _, score in scores), **facts(scores))


def _answer(output: str) -> dict[str, object] | None:
    for line in output.splitlines():
        if line.startswith(MARK):
            with suppress(msgspec.DecodeError):
                return msgspec.json.decode(line[len(MARK) :], type=dict[str, object])
            return None
    return None


def _why(code: int, errors: str) -> str:
    if re.search(r"^(ModuleNotFound|Import)Error", errors, re.MULTILINE):
        return "This libtpu has no SDK, or none is installed."
    if code < 0:
        return f"It crashed with {signal_name(-code)}."
    if code:
        lines = errors.strip().splitlines()
        return f"It failed: {lines[-1] if lines else f'exit status {code}'}."
    return "It ended without an answer."
