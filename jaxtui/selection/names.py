"""Names as people type them: ops, dtypes, modes, devices and the rest."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from jaxtui.model import (
    DTYPES,
    HOST,
    INPUTS,
    MODES,
    PRECISIONS,
    Device,
    Inputs,
    Mode,
    OpInfo,
    Precision,
)
from jaxtui.selection.own import looks_own, parse_own
from jaxtui.selection.sizes import SelectionError, parse_sizes

MAXIMUM_BUDGET_SECONDS = 86_400.0
"""A day."""

DTYPE_ALIASES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "float8": "float8_e4m3fn",
    "f8": "float8_e4m3fn",
    "i32": "int32",
    "i8": "int8",
    "c64": "complex64",
}
"""Short names that are accepted beside the full ones; the last of a dtype is shown."""

_Text = TypeVar("_Text", bound=str)


@dataclass(frozen=True, slots=True)
class OpChoice:
    """An op by name, with sizes of its own where they were given (``matmul:2k``)."""

    name: str
    sizes: tuple[int, ...] | None = None


def parse_ops(
    texts: Iterable[str], catalogue: Sequence[OpInfo], *, own: bool = False
) -> tuple[OpChoice, ...]:
    """The ops that ``OP`` or ``OP:SIZE`` texts name; ``matmul,selu`` names two.

    Args:
        texts: as they were typed.
        catalogue: the ops that exist.
        own: take functions of the user's own, too: ``path/to/file.py:name``.

    Raises:
        SelectionError: if there is none, or one is not in the catalogue.
    """
    known = [op.name for op in catalogue]
    choices: list[OpChoice] = []
    for text in texts:
        if looks_own(text) and (own or ".py" in text):
            choices.extend(_own_choices(text, own))
            continue
        name, colon, sizes = text.partition(":")
        if colon:
            op = _choose(name, known, "op")
            choices.append(OpChoice(op, parse_sizes(sizes)))
        else:
            choices.extend(OpChoice(op) for op in _choose_all(text, known, "op"))
    if not choices:
        raise SelectionError(f"Name at least one op: {listed(known)}.")
    return tuple(dict.fromkeys(choices))


def _own_choices(text: str, taken: bool) -> Iterator[OpChoice]:
    if not taken:
        raise SelectionError(
            f'"{text}" is a function of a file: only `jaxtui bench` and `jaxtui hlo` '
            "take those."
        )
    ops, sizes = parse_own(text)
    for op in ops:
        yield OpChoice(op, sizes)


def parse_dtypes(text: str) -> tuple[str, ...]:
    """The dtypes of a list such as ``float32,bf16``.

    Raises:
        SelectionError: if one is unknown.
    """
    names = (part.strip() for part in text.split(","))
    spelled = ",".join(DTYPE_ALIASES.get(name.lower(), name) for name in names)
    return _choose_all(spelled, DTYPES, "dtype")


def parse_modes(text: str) -> tuple[Mode, ...]:
    """The modes of a list such as ``jit,numpy``, whether or not an op has them.

    Raises:
        SelectionError: if one is unknown.
    """
    return _choose_all(text, MODES, "mode")


def parse_inputs(text: str) -> tuple[Inputs, ...]:
    """The places of a list such as ``device,host``.

    Raises:
        SelectionError: if one is unknown.
    """
    return _choose_all(text, INPUTS, "place for inputs")


def parse_precisions(text: str) -> tuple[Precision, ...]:
    """The precisions of a list such as ``default,highest``.

    Raises:
        SelectionError: if one is unknown.
    """
    return _choose_all(text, PRECISIONS, "precision")


def parse_devices(text: str, devices: Sequence[Device]) -> tuple[str, ...]:
    """The device names of a list such as ``cpu:0,tpu:3``, of ``tpu``, or of ``all``.

    A platform alone names all of its devices; only devices that this process can
    address count.

    Raises:
        SelectionError: if one is not there, or belongs to another process.
    """
    mine = [device for device in devices if device.addressable]
    theirs = {device.name: device for device in devices if not device.addressable}
    names = [device.name for device in mine]
    chosen: list[str] = []
    for part in (part.strip().lower() for part in text.split(",")):
        of_platform = [device.name for device in mine if device.platform == part]
        if part == "all":
            chosen.extend(names)
        elif part in theirs:
            raise SelectionError(
                f"{part} belongs to process {theirs[part].process_index}: "
                f"from here there is {listed(names)}."
            )
        elif part == HOST:
            raise SelectionError(
                'JAX does not run on "host": choose the mode numpy for that, and for '
                f"JAX a device out of {listed(names)}."
            )
        else:
            chosen.extend(of_platform or [_choose(part, names, "device")])
    return tuple(dict.fromkeys(chosen))


def parse_budget(text: str, noun: str = "budget") -> float | None:
    """A time such as ``10`` or ``2.5s`` in seconds; ``None``, the default, if empty.

    Args:
        text: as it was typed.
        noun: what the time is called in the sentence that refuses it.

    Raises:
        SelectionError: if it is no positive number, or more than a day.
    """
    text = text.strip()
    if not text:
        return None
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAXIMUM_BUDGET_SECONDS:
        raise SelectionError(
            f'The {noun} "{text}" is no time: give seconds such as 10, at most a day.'
        )
    return seconds


def first_device(devices: Sequence[Device]) -> Device:
    """The first device that this process can address.

    Raises:
        SelectionError: if there is none.
    """
    for device in devices:
        if device.addressable:
            return device
    raise SelectionError("JAX has no device that this process can use.")


def _choose_all(text: str, known: Sequence[_Text], noun: str) -> tuple[_Text, ...]:
    return tuple(dict.fromkeys(_choose(part, known, noun) for part in text.split(",")))


def _choose(text: str, known: Sequence[_Text], noun: str) -> _Text:
    """The known name that ``text`` is, whatever its case."""
    name = text.strip().lower()
    if name in known:
        return cast("_Text", name)
    if not name:
        raise SelectionError(f"The {noun} is empty: there is {listed(known)}.")
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise SelectionError(
        f'There is no {noun} "{text.strip()}": there is {listed(known)}.{hint}'
    )


def listed(names: Sequence[str]) -> str:
    """The names as a sentence has them."""
    return ", ".join(names) if names else "none"
