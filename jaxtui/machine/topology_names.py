"""The names of TPU topologies as people type them.

Accelerator types are Google Cloud's (``v5litepod-8``), the others
libtpu's (``v5e:2x4``).
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxtui.machine.topologies import names, topology_of
from jaxtui.model.ahead import Topology

MOST_CHIPS = 16_384
"""No slice has more (TPU7x: 9216); a larger layout is a slip of the hand."""

INSTALL = 'pip install "jaxtui[topology]"'
"""What brings libtpu."""

USUAL = "-8"
"""One machine: eight TensorCores, or eight chips of one core."""

GRAMMAR = "libtpu's own names, such as v5e:2x4, v4:2x2x1 or tpu7x:2x2x1"

_NAME = re.compile(
    r"(?P<family>[a-z0-9]+(?: lite)?)[=_:](?P<layout>[0-9x]+)"
    r"(?P<torus>_twisted|_untwisted)?"
)
_LAYOUT = re.compile(r"[1-9][0-9]{0,4}(?:x[1-9][0-9]{0,4})*")
_TYPE = re.compile(
    r"(?:(?P<slices>[1-9][0-9]?)x-)?(?P<family>[a-z0-9]+)-(?P<count>\d+)"
)
_OPTION = re.compile(r"(?P<key>[a-z_]+)=(?P<value>\w+)")
_NUMBERS = re.compile(r"[0-9]{1,9}(?:x[0-9]{1,9})*")

_ALIASES = {"v5lite": "v5e", "v5litepod": "v5e", "v6lite": "v6e", "v7x": "tpu7x"}
"""What people call a family that libtpu knows by another name."""


@dataclass(frozen=True, slots=True)
class _Family:
    """What the number of an accelerator type means, and how large its slices are."""

    own: str
    """libtpu's name."""
    per_chip: int
    """What the number counts per chip: TensorCores for most, chips for v5e and v6e."""
    dimensions: int
    most_chips: int
    single: bool = False
    """Whether there are slices of one chip."""

    def layouts(self) -> dict[int, str]:
        """The layout of a slice by its number of chips."""
        every = {_chips(layout): layout for layout in _LAYOUTS[self.dimensions]}
        least = 1 if self.single else 2
        return {n: every[n] for n in every if least <= n <= self.most_chips}


_FAMILIES = {
    "v2": _Family("v2", 2, 2, 256),
    "v3": _Family("v3", 2, 2, 1024),
    "v4": _Family("v4", 2, 3, 2048),
    "v5e": _Family("v5e", 1, 2, 256, single=True),
    "v5litepod": _Family("v5e", 1, 2, 256, single=True),
    "v5p": _Family("v5p", 2, 3, 2048),
    "v6e": _Family("v6e", 1, 2, 256, single=True),
    "tpu7x": _Family("tpu7x", 2, 3, 2048, single=True),
}
"""By the family of an accelerator type."""

_LAYOUTS = {
    2: ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16", "16x32", "32x32"),
    3: (
        *("1x1x1", "2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8"),
        *("8x8x8", "8x8x16", "8x16x16"),
    ),
}
"""The layouts that Google Cloud gives slices whose size is a power of two, by
dimensions (cloud.google.com/tpu/docs, the page of each version). There are others, for
which libtpu's own names are the way."""


class TopologyError(ValueError):
    """There is no such topology; the text is one sentence for people."""


def parse(text: str) -> Topology:
    """The topology that a person means.

    Accelerator types (``v5litepod-8``, ``v4-16``, ``2x-v6e-8``; ``v4`` alone is a
    machine of the usual size, ``v4-8``), recorded names, and libtpu's own names, to
    which arguments of ``jax.experimental.topologies.get_topology_desc`` can be added:
    ``v5e:2x4,chips_per_host_bounds=2x4x1``. A v4 gets ``chip_config_name=megacore``,
    because its machines run like that: without it there would be two devices per chip.
    libtpu has the last word about the rest.

    Raises:
        TopologyError: it is none of these; the sentence lists what exists.
    """
    name = text.strip().lower()
    if name in _FAMILIES:
        name += USUAL
    if name in names():
        return topology_of(name)
    found = _TYPE.fullmatch(name)
    if found and (topology := _of_type(name, found)):
        return topology
    own, *options = name.split(",")
    if found := _NAME.fullmatch(own):
        return _own(found, dict(_options(text, options)))
    raise TopologyError(
        f'There is no topology "{text.strip()}": there is {_listed()}.{_near(name)}'
    )


def _own(found: re.Match[str], given: dict[str, Any]) -> Topology:
    """What libtpu takes as it is, with the default of a v4."""
    layout = found["layout"]
    if not _LAYOUT.fullmatch(layout):
        # libtpu divides by it: a zero would end the process (SIGFPE).
        raise TopologyError(
            f'The layout "{layout}" is none: write the chips per dimension, as in '
            f"v5e:2x4 or v4:2x2x1."
        )
    slices = given.get("num_slices", 1)
    chips = _chips(layout) * (slices if isinstance(slices, int) else 1)
    if chips > MOST_CHIPS:
        raise TopologyError(
            f'The layout "{layout}" makes {chips:,} chips; no TPU has more than '
            f"{MOST_CHIPS:,}."
        )
    family = _ALIASES.get(found["family"], found["family"])
    if family == "v4":
        given.setdefault("chip_config_name", "megacore")
    return Topology(name=f"{family}:{layout}{found['torus'] or ''}", options=given)


def _options(text: str, options: list[str]) -> Iterator[tuple[str, Any]]:
    for option in options:
        found = _OPTION.fullmatch(option.strip())
        if not found:
            raise TopologyError(
                f'"{option.strip()}" in "{text.strip()}" is no option: write it as in '
                "v5e:2x4,num_slices=2 or v5e:2x4,chips_per_host_bounds=2x4x1."
            )
        yield found["key"], _value(found["value"])


def _value(text: str) -> int | str | tuple[int, ...]:
    if not _NUMBERS.fullmatch(text):
        return text
    numbers = tuple(map(int, text.split("x")))
    return numbers if len(numbers) > 1 else numbers[0]


def _of_type(name: str, found: re.Match[str]) -> Topology | None:
    """An accelerator type by the table of layouts; ``None`` for an unknown family."""
    family = _FAMILIES.get(found["family"])
    if family is None:
        return None
    layouts = family.layouts()
    chips, rest = divmod(int(found["count"]), family.per_chip)
    if rest or chips not in layouts:
        counts = ", ".join(str(count * family.per_chip) for count in layouts)
        raise TopologyError(
            f'There is no accelerator type "{name}": the number after '
            f"{found['family']} is one of {counts}."
        )
    slices = int(found["slices"] or 1)
    recorded = f"v5litepod-{chips}" if family.own == "v5e" else name
    if slices == 1 and recorded in names():
        return topology_of(recorded)
    several = f",num_slices={slices}" if slices > 1 else ""
    return parse(f"{family.own}:{layouts[chips]}{several}")


def _chips(layout: str) -> int:
    return math.prod(map(int, layout.split("x")))


def _listed() -> str:
    """Everything that can be typed."""
    return f"{', '.join(names())}, and with libtpu ({INSTALL}) {GRAMMAR}"


def _near(name: str) -> str:
    near = difflib.get_close_matches(name, names(), n=1, cutoff=0.7)
    return f" Did you mean {near[0]}?" if near else ""
