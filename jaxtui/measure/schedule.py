"""How the time of an experiment is shared out: pure rules, in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from random import Random
from typing import Protocol, TypeVar

from jaxtui.model import Case, PlannedCase, Stopped
from jaxtui.stats import MINIMUM_ROUNDS, noise_floor_reached

TURN_SECONDS = 0.040
"""The usual length of a turn."""

TURN_SECONDS_AT_MOST = 0.250
"""A lone case has nobody to take turns with; longer turns spread its rounds out."""

SPREAD_SECONDS = 6.0
"""Rounds should span this long before they are believed: those of one contiguous second
agree with each other and not with the next minute. Cases that stopped as soon as their
interval was narrow, after 2.4 s, had the long-run median in it in 60 to 70 % of sweeps,
their neighbours that went on in 90 to 95 %."""

SPREAD_SHARE = 0.6
"""Of the time for sampling, where that is short."""

ROUNDS_WANTED = 8
"""Rounds below which no case counts as done, however narrow its interval."""

NOISE_FLOOR_ROUNDS = 32
"""Rounds, some ten seconds, before an interval counts as no longer narrowing."""

PREPARATION_SHARE = 0.7
"""Share of the budget after which no further case is compiled."""


class Timed(Protocol):
    """Whatever takes turns."""

    @property
    def case(self) -> Case:
        """What it times."""
        ...


_Timed = TypeVar("_Timed", bound=Timed)


def turn_seconds(available: float, cases: int) -> float:
    """The length of a turn for so many cases in so much time."""
    spread = SPREAD_SECONDS / (10 * cases)
    usual = min(max(spread, TURN_SECONDS), TURN_SECONDS_AT_MOST)
    return max(0.002, min(usual, available / (ROUNDS_WANTED * cases)))


def spread_seconds(available: float) -> float:
    """How long a case samples at least, in so much time for sampling."""
    return min(SPREAD_SECONDS, SPREAD_SHARE * max(0.0, available))


def affords_bursts(
    *, call_seconds: float, turn: float, rounds: int, slopes: int, share: float
) -> bool:
    """Whether a turn should include a pair of bursts.

    Short calls always; long ones once, and again only if six rounds fit all the same.

    Args:
        call_seconds: One blocked call.
        turn: The length of a turn.
        rounds: Turns taken so far.
        slopes: Burst pairs so far.
        share: What is left of the budget for this case.
    """
    pair = 3 * call_seconds
    if pair <= turn or not slopes:
        return True
    missing = max(0, MINIMUM_ROUNDS - rounds)
    return share >= missing * max(call_seconds, turn) + pair


def stop_reason(
    half_widths: Sequence[float], target: float, *, spread: bool = True
) -> Stopped | None:
    """Why a case is done, from its relative half-width after each round.

    A target of zero is never reached: such a case samples until the budget ends.

    Args:
        half_widths: After each round.
        target: The half-width that is wanted.
        spread: Whether the rounds span long enough to be believed.
    """
    if target <= 0 or not spread:
        return None
    if len(half_widths) >= ROUNDS_WANTED and half_widths[-1] <= target:
        return "target"
    if len(half_widths) >= NOISE_FLOOR_ROUNDS and noise_floor_reached(half_widths):
        return "noise floor"
    return None


def shuffled(active: Sequence[_Timed], random: Random) -> list[_Timed]:
    """A new order of turns: random, but what NumPy runs is not spread among the rest.

    Its threads have to come to rest before anybody else's turn, which takes a while.
    """
    kinds: dict[bool, list[_Timed]] = {}
    for timer in random.sample(active, len(active)):
        kinds.setdefault(timer.case.on_host, []).append(timer)
    return [timer for kind in kinds.values() for timer in kind]


def groups(
    cases: Sequence[tuple[int, PlannedCase]], grouped: bool
) -> list[list[tuple[int, PlannedCase]]]:
    """The cases that take turns together: all, or one size of an op after another."""
    if not grouped:
        return [list(cases)] if cases else []

    def key(item: tuple[int, PlannedCase]) -> tuple[int, str]:
        return item[1].case.size, item[1].case.op

    return [list(group) for _, group in groupby(sorted(cases, key=key), key=key)]
