"""Every combination of what is wanted of an op, each once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxtui.model import HOST, HOST_MODES, Case, Inputs, Mode, OpInfo, Precision

Way = tuple[Precision, str, Mode, Inputs]
"""How something is run: precision, device, mode, place of its inputs."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An op, and all that is wanted of it."""

    info: OpInfo
    sizes: tuple[int, ...]
    dtypes: tuple[str, ...]
    ways: tuple[Way, ...]
    params: dict[str, int | float | str] | None = None

    @property
    def count(self) -> int:
        """How many cases it comes to; none is made."""
        return len(self.sizes) * len(self.dtypes) * len(self.ways)

    def cases(self) -> Iterator[Case]:
        """In the order size, dtype, precision, device, mode, inputs."""
        for size, dtype, (precision, device, mode, place) in itertools.product(
            self.sizes, self.dtypes, self.ways
        ):
            yield Case(
                op=self.info.name,
                size=size,
                dtype=dtype,
                precision=precision,
                device=device,
                mode=mode,
                inputs=place,
                params=self.params,
            )


def ways(
    info: OpInfo,
    precisions: Sequence[Precision],
    devices: Sequence[str],
    modes: Sequence[Mode],
    inputs: Sequence[Inputs],
) -> tuple[Way, ...]:
    """Every way to run an op, each once.

    What has no meaning falls back: NumPy and TensorFlow run on the host, and what has
    no matrix products has only the default precision.
    """
    found: dict[Way, None] = {}
    for precision, device, mode, place in itertools.product(
        precisions, devices, modes, inputs
    ):
        hosted = mode in HOST_MODES
        plain = hosted or not info.takes_precision
        way: Way = (
            "default" if plain else precision,
            HOST if hosted else device,
            mode,
            "host" if hosted else place,
        )
        found[way] = None
    return tuple(found)


def lengths(wanted: Sequence[Wanted]) -> dict[str, tuple[int, int]]:
    """By op: how many sizes and dtypes, of all that is wanted of it."""
    found: dict[str, tuple[int, int]] = {}
    for one in wanted:
        before, _ = found.get(one.info.name, (0, 0))
        found[one.info.name] = before + len(one.sizes), len(one.dtypes)
    return found
