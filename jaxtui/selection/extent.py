"""How much an experiment is: said, and asked about, before anybody waits for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui.model import Experiment
from jaxtui.selection.sizes import SelectionError
from jaxtui.selection.words import how_long

MANY_CASES = 100
"""More than this may be a slip of the hand: a small factor, or one list too many."""

MANY_SECONDS = 300.0
"""Nobody expects a longer run who has not asked for one."""

MAXIMUM_CASES = 10_000
"""Hours by default, and more rows than anybody reads."""


@dataclass(frozen=True, slots=True)
class Lists:
    """How long the lists are whose combinations are the cases."""

    ops: Mapping[str, tuple[int, int]]
    """By op: with how many sizes, and in how many dtypes, it is timed."""
    precisions: int = 1
    devices: int = 1
    modes: int = 1
    inputs: int = 1

    @property
    def combinations(self) -> int:
        """Of everything with everything."""
        others = self.precisions * self.devices * self.modes * self.inputs
        return self._pairs * others

    def multiplied(self, cases: int) -> str:
        """What comes to so many cases: ``2 ops × 40 sizes = 80 cases``.

        Args:
            cases: how many there are. Fewer than the combinations where some are the
                same: NumPy runs on none of the devices that it is combined with.
        """
        factors = [_some(count, noun) for count, noun in self._factors() if count > 1]
        what = _some(cases, "case")
        if not factors:
            return what
        if cases != self.combinations:
            what = f"{fmt.count(self.combinations)} combinations, {what} in all"
        return f"{' × '.join(factors)} = {what}"

    @property
    def _pairs(self) -> int:
        return sum(sizes * dtypes for sizes, dtypes in self.ops.values())

    def _factors(self) -> Iterator[tuple[int, str]]:
        sizes, dtypes = zip(*self.ops.values(), strict=True)
        ops = len(self.ops)
        if len(set(self.ops.values())) == 1:
            yield ops, "op"
            yield sizes[0], "size"
            yield dtypes[0], "dtype"
        elif len(set(dtypes)) == 1:
            yield sum(sizes), f"size of {ops} ops"
            yield dtypes[0], "dtype"
        else:
            yield self._pairs, f"pair of size and dtype for {ops} ops"
        yield self.precisions, "precision"
        yield self.devices, "device"
        yield self.modes, "mode"
        yield self.inputs, "place for inputs"


@dataclass(frozen=True, slots=True)
class Extent:
    """How many cases, why so many, and for how long."""

    cases: int
    multiplied: str
    """``2 ops × 40 sizes × 3 dtypes × 3 modes = 720 cases``."""
    seconds: float
    """At most: the budget, which includes compiling."""
    typed: bool = False
    """The time is what somebody typed, so that it surprises nobody."""

    @property
    def is_large(self) -> bool:
        """Whether to ask before it is started."""
        long = self.seconds > MANY_SECONDS and not self.typed
        return self.cases > MANY_CASES or long

    @property
    def text(self) -> str:
        """``2 ops × 40 sizes × 3 dtypes × 3 modes = 720 cases, about 12 min``."""
        each = ""
        if self.typed and self.cases > 1:
            each = f", {fmt.seconds(self.seconds / self.cases, 2)} for each"
        return f"{self.multiplied}, about {how_long(self.seconds)}{each}"


def extent(experiment: Experiment) -> Extent:
    """How much an experiment is."""
    cases = experiment.cases
    jax = [case for case in cases if not case.on_host]
    lists = Lists(
        ops={
            op: (
                len({case.size for case in cases if case.op == op}),
                len({case.dtype for case in cases if case.op == op}),
            )
            for op in dict.fromkeys(case.op for case in cases)
        },
        precisions=len({case.precision for case in jax} or {""}),
        devices=len({case.device for case in jax} or {""}),
        modes=len({case.mode for case in cases}),
        inputs=len({case.inputs for case in jax} or {""}),
    )
    return Extent(
        cases=len(cases),
        multiplied=lists.multiplied(len(cases)),
        seconds=experiment.budget,
        typed=experiment.budget_seconds is not None,
    )


def refuse_too_many(cases: int, lists: Lists) -> None:
    """Raise if there are more cases than one experiment may have.

    Args:
        cases: how many there would be; none has been made yet.
        lists: what they come of.

    Raises:
        SelectionError: if there are.
    """
    if cases > MAXIMUM_CASES:
        raise SelectionError(
            f"{lists.multiplied(cases)}: one run has at most "
            f"{fmt.count(MAXIMUM_CASES)}; shorten a list."
        )


def _some(count: int, noun: str) -> str:
    """``1 size``, ``40 sizes``, ``1,200 sizes of 2 ops``."""
    first, space, rest = noun.partition(" ")
    plural = first if count == 1 else f"{first}s"
    return f"{fmt.count(count)} {plural}{space}{rest}"
