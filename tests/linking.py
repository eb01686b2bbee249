"""Links as an engine tells of them, of an imagined machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxtui.model import Event, Remark, RunFinished, RunStarted
from jaxtui.model.links import LinkMeasured, Links, LinksMeasured

BYTES_PER_SECOND = 40e9


def link(source: str, target: str, slower: float = 1.0, **more: object) -> LinkMeasured:
    """A pair whose large copy is of 64 MiB."""
    seconds = 64 * 2**20 / BYTES_PER_SECOND * slower
    facts: dict[str, object] = {
        "latency_seconds": 30e-6,
        "latency_low": 29e-6,
        "latency_high": 31e-6,
        "copy_seconds": seconds,
        "copy_low": seconds * 0.99,
        "copy_high": seconds * 1.01,
        "rounds": 8,
        "confidence": 0.99,
    }
    return LinkMeasured(source=source, target=target, **(facts | more))  # type: ignore[arg-type]


def no_link(source: str, target: str, remark: Remark) -> LinkMeasured:
    """A pair without figures."""
    return LinkMeasured(source=source, target=target, remarks=(remark,))


def answer(
    work: Links, slower: Mapping[tuple[str, str], float] | None = None
) -> Sequence[Event]:
    """What is said of a work: each pair is as fast as another unless it is slower."""
    found = (link(*pair, slower=(slower or {}).get(pair, 1.0)) for pair in work.pairs)
    return [
        RunStarted(budget_seconds=work.budget_seconds),
        *found,
        LinksMeasured(),
        RunFinished(outcome="complete", elapsed_seconds=9.0),
    ]
