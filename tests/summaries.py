"""The summary of one clock from all of its calls, as the measuring core makes it."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.model import Summary
from jaxtui.stats import Pool, median


def summarize(rounds: Sequence[Sequence[float]]) -> Summary:
    """Of rounds, each with the seconds of its calls."""
    pool = Pool()
    pool.add(value for round_ in rounds for value in round_)
    return pool.summary([median(round_) for round_ in rounds])
