"""The same work for long enough: does a device keep its pace?

A TPU is also asked for its own health: throttling and the links between the chips.
libtpu's SDK is read in a process of its own and for a limited time. It may crash on
import, it should not be loaded beside the libtpu that JAX uses, and where it looks for
a metadata server that is not there, every metric takes half a minute.
"""

from __future__ import annotations

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
    Measure,
    on_first,
    reading,
    translate_errors,
)
from jaxtui.measure.check.tpu_sdk import MARK
from jaxtui.measure.children import Exit
from jaxtui.measure.turns import take_turns
from jaxtui.model import CheckLevel, CheckRead, Expected, Reading, RunEvent
from jaxtui.stats import median, rounds_interval

AT_MOST = 1.10
"""The last quarter over the first, on an accelerator without other work."""

AT_MOST_ON_CPU = 1.5
"""On a CPU other programs, and clocks that go up and down, move it more than that."""

BOUND = "jaxtui's own bound: the last quarter takes at most {share:.0%} longer"

TOO_SHORT = " Chips throttle after tens of seconds: level full goes on for longer."

LEAST_BURSTS = 4
"""One for each quarter."""

THROTTLE, LINKS = "tpu_throttle_score", "ici_link_health"

WHAT = {THROTTLE: "throttle score", LINKS: "link health"}

SDK = "libtpu's SDK"

SDK_SECONDS: Mapping[CheckLevel, float] = {"quick": 5.0, "full": 20.0}

TRANSIENT, PERSISTENT, UNUSABLE = 1, 6, 10
"""The lowest scores of a link with transient problems, with persistent ones of minor
weight, and of one that is unusable (description of the metric in libtpu)."""

_SCORE = re.compile(r"(?:(?P<place>.*):)?\s*(?P<score>\d+(?:\.\d+)?)\s*")

Scores = Sequence[tuple[str, float]]
"""Where, which may be empty, and how much; at least one."""

_of_machine = partial(reading, "steady", None)


def test(context: Context) -> Iterator[RunEvent]:
    """One product over and over, on all devices at once.

    Of devices that share silicon only the first works: they would slow each other down.
    """

    def job(device: jax.Device, seconds: float) -> Iterator[Reading | Measure]:
        yield partial(_measure, context, device, seconds)

    skipped = ("steady", "{name} shares the host's cores with {first}.")
    yield from on_first(context, "working steadily", job, else_skipped=skipped)
    if not context.stop():
        for one in sdk_readings(context):
            yield CheckRead(reading=one)


def _measure(context: Context, device: jax.Device, seconds: float) -> Reading | None:
    product = compute.natural_product(context, device, "steady {}")
    turns, what = work.turns_of(product), product.what
    with translate_errors(product.workload.case, what, "sampling"):
        begin = perf_counter()
        for one in take_turns([turns], seconds, stop=context.stop):
            late = perf_counter() - begin >= seconds
            one.done = late and len(one.means) >= LEAST_BURSTS
    if not turns.done:
        return None
    elapsed = perf_counter() - begin
    disturbed = work.disturbance(turns.meter, device)
    found = compare_quarters(turns.means, elapsed, what, device, disturbed)
    brief = context.check.level == "quick" and device.platform != "cpu"
    if brief and not disturbed:
        found = msgspec.structs.replace(found, said=found.said + TOO_SHORT)
    return found


def compare_quarters(
    means: Sequence[float],
    elapsed: float,
    what: str,
    device: jax.Device,
    disturbed: str = "",
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
            f" {fmt.seconds(elapsed)}, {fmt.seconds(last)} in the last."
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
    command = [*child.command(tpu_sdk.__name__), str(int(limit) + 1), *WHAT]
    ended = children.run(
        command, limit, environment=environment(os.environ), stop=context.stop
    )
    if not context.stop():
        yield from parse_metrics(ended, limit)


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """That of the process: without questions to a metadata server, unless asked for."""
    return {"TPU_SKIP_MDS_QUERY": "1", **base}


def parse_metrics(ended: Exit, limit_seconds: float) -> Iterator[Reading]:
    answer = _answer(ended.output)
    if ended.code == 0 and answer is not None:
        yield _of_metric(THROTTLE, answer.get(THROTTLE), throttling)
        yield _of_metric(LINKS, answer.get(LINKS), links)
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
    if unusable := named(UNUSABLE, float("inf")):
        facts["fault"] = f"Links between chips are unusable: {unusable}."
    doubts = []
    if persistent := named(PERSISTENT, UNUSABLE):
        doubts.append(f"persistent minor problems on {persistent}")
    if transient := named(TRANSIENT, PERSISTENT):
        doubts.append(f"transient problems on {transient}")
    if doubts:
        facts["doubt"] = f"Links between chips have {' and '.join(doubts)}."
    return facts


def _of_metric(
    metric: str, values: object, facts: Callable[[Scores], dict[str, Any]]
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
        return _of_machine(WHAT[metric], skipped=why)
    most = max(score for _, score in scores)
    return _of_machine(WHAT[metric], most, **facts(scores))


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
        return f"It crashed with {children.signal_name(-code)}."
    if code:
        lines = errors.strip().splitlines()
        return f"It failed: {lines[-1] if lines else f'exit status {code}'}."
    return "It ended without an answer."
