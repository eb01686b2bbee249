"""What a TPU says of its own health: throttling and the links between the chips.

libtpu's SDK is read in a process of its own and for a limited time. It may crash on
import, it should not be loaded beside the libtpu that JAX uses, and where it looks for
a metadata server that is not there, every metric takes half a minute.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from jaxtui import child
from jaxtui.machine.tpu_sdk import MARK
from jaxtui.measure.checks import children
from jaxtui.measure.checks.base import Context
from jaxtui.measure.checks.children import Ended
from jaxtui.model import CheckLevel, Reading

THROTTLE, LINKS = "tpu_throttle_score", "ici_link_health"

WHAT = {THROTTLE: "throttle score", LINKS: "link health"}

SDK = "libtpu's SDK"

LIMIT_SECONDS: Mapping[CheckLevel, float] = {"quick": 5.0, "full": 20.0}

_SCORE = re.compile(r"(?:(?P<place>.*):)?\s*(?P<score>\d+(?:\.\d+)?)\s*")

TRANSIENT, PERSISTENT, UNUSABLE = 1, 6, 10
"""The lowest scores of a link with transient problems, with persistent ones of minor
weight, and of one that is unusable (description of the metric in libtpu)."""


def readings(context: Context) -> Iterator[Reading]:
    """The throttle score and the link health of this host's chips.

    Nothing where no TPU takes part, or the test is stopped; one skipped reading where
    there is no answer.

    Args:
        context: The test that shows the readings.
    """
    if not any(device.platform == "tpu" for device in context.devices):
        return
    limit = LIMIT_SECONDS[context.check.level]
    command = [*child.command("jaxtui.machine.tpu_sdk"), str(int(limit) + 1), *WHAT]
    ended = children.run(
        command, limit, environment=environment(os.environ), stop=context.stop
    )
    if context.stop():
        return
    for reading in understood(ended, limit):
        yield msgspec.structs.replace(reading, test=context.check.test)


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """That of the process: without questions to a metadata server, unless asked for."""
    return {"TPU_SKIP_MDS_QUERY": "1", **base}


def understood(ended: Ended, limit_seconds: float) -> Iterator[Reading]:
    """The readings in what the process has written."""
    if ended.code is None:
        yield _skipped(SDK, f"It did not answer within {limit_seconds:g} s.", ended)
        return
    answer = _answer(ended.output)
    if ended.code != 0 or answer is None:
        yield _skipped(SDK, _why(ended), ended)
        return
    for metric, read in ((THROTTLE, throttling), (LINKS, links)):
        yield _of_metric(metric, answer.get(metric), read)


def throttling(scores: Sequence[tuple[str, float]]) -> Reading:
    """0 is no throttling, 1 to 10 are 10 to 100 %.

    Args:
        scores: Where, which may be empty, and how much; at least one.
    """
    hot = [
        f"{place or f'chip {index}'} by {score * 10:g} %"
        for index, (place, score) in enumerate(scores)
        if score > 0
    ]
    doubt = f"The TPU throttles itself: {', '.join(hot)}." if hot else ""
    said = "" if hot else f"None of {len(scores)} is throttled."
    return _reading(THROTTLE, scores, doubt=doubt, said=said)


def links(scores: Sequence[tuple[str, float]]) -> Reading:
    """0 is a link without problems, 10 one that is unusable.

    Args:
        scores: Which link, and its score; at least one.
    """
    unusable = _named(scores, lambda score: score >= UNUSABLE)
    persistent = _named(scores, lambda score: PERSISTENT <= score < UNUSABLE)
    transient = _named(scores, lambda score: TRANSIENT <= score < PERSISTENT)
    doubts = []
    if persistent:
        doubts.append(f"persistent minor problems on {persistent}")
    if transient:
        doubts.append(f"transient problems on {transient}")
    return _reading(
        LINKS,
        scores,
        fault=f"Links between chips are unusable: {unusable}." if unusable else "",
        doubt=f"Links between chips have {' and '.join(doubts)}." if doubts else "",
        said=f"{len(scores)} links; 0 is one without problems.",
    )


def _of_metric(
    metric: str,
    values: object,
    read: Callable[[Sequence[tuple[str, float]]], Reading],
) -> Reading:
    if isinstance(values, str):
        return _skipped(WHAT[metric], f"libtpu failed to read {metric}: {values}")
    if not isinstance(values, list):
        return _skipped(WHAT[metric], f"This libtpu does not have {metric}.")
    matches = [_SCORE.fullmatch(str(value)) for value in values]
    scores = [
        ((match["place"] or "").strip(), float(match["score"]))
        for match in matches
        if match is not None
    ]
    if len(scores) < len(values):
        odd = [
            str(value)
            for value, match in zip(values, matches, strict=True)
            if match is None
        ]
        return _skipped(WHAT[metric], f"libtpu says {odd[0]!r}, which is no score.")
    if not scores:
        return _skipped(WHAT[metric], f"libtpu says nothing about {metric}.")
    return read(scores)


def _answer(output: str) -> dict[str, object] | None:
    for line in output.splitlines():
        if line.startswith(MARK):
            try:
                found = json.loads(line[len(MARK) :])
            except ValueError:
                return None
            return found if isinstance(found, dict) else None
    return None


def _why(ended: Ended) -> str:
    if re.search(r"^(ModuleNotFound|Import)Error", ended.errors, re.MULTILINE):
        return "This libtpu has no SDK, or none is installed."
    if ended.code is not None and ended.code < 0:
        return f"It crashed with {_signal(-ended.code)}."
    if ended.code:
        lines = ended.errors.strip().splitlines()
        return f"It failed: {lines[-1] if lines else f'exit status {ended.code}'}."
    return "It ended without an answer."


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _named(scores: Sequence[tuple[str, float]], wanted: Callable[[float], bool]) -> str:
    return ", ".join(
        f"{place or f'link {index}'} ({score:g})"
        for index, (place, score) in enumerate(scores)
        if wanted(score)
    )


def _reading(
    metric: str,
    scores: Sequence[tuple[str, float]],
    fault: str = "",
    doubt: str = "",
    said: str = "",
) -> Reading:
    return Reading(
        test="steady",
        device=None,
        what=WHAT[metric],
        measured=max(score for _, score in scores),
        fault=fault,
        doubt=doubt,
        said=said,
    )


def _skipped(what: str, why: str, ended: Ended | None = None) -> Reading:
    return Reading(
        test="steady",
        device=None,
        what=what,
        skipped=why,
        detail="" if ended is None else ended.errors.strip(),
    )
