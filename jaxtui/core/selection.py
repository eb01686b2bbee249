"""Parse typed text: sizes, names, seconds and arguments.

The form, the command line and the API share these functions, so that all of them accept
the same texts and answer a mistake with the same remark. ``experiments`` combines
what they return to cases.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TypeVar, cast

import msgspec

from jaxtui.core import functions
from jaxtui.core.model import (
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
    SelectionError,
)
from jaxtui.core.model import mesh as meshes
from jaxtui.core.model.machine import group_name, id_ranges, members
from jaxtui.core.model.mesh import Mesh
from jaxtui.core.model.own import join_specs, parse_spec
from jaxtui.core.text import did_you_mean

MAXIMUM_SIZE = 10**15
"""Upper limit to catch typos: no machine holds an array of more elements."""

MAXIMUM_SIZES = 1000
"""Upper limit to catch typos."""

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

_FACTORS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_FACTOR = re.compile(r"(.*?)\s*[x×*]\s*([1-9][0-9]{0,8}(?:\.[0-9]{1,9})?)\s*")
_NUMBER = re.compile(
    r"([0-9]{1,40}(?:\.[0-9]{1,40})?(?:e\+?[0-9]{1,3})?)([kmg]?)", re.IGNORECASE
)
_TYPED = re.compile(
    r"(?P<path>.+\.py)(?::(?P<names>[^:]*)(?::(?P<sizes>.*))?)?", re.DOTALL
)
_MODULE = re.compile(
    r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<names>[^\W\d].*)", re.DOTALL
)
"""``package.module:name``; a size, which may follow an op, begins with a digit."""

_IDS = re.compile(r"\d{1,9}(?:-\d{1,9})?", re.ASCII)

_ARGUMENT = re.compile(
    r"(?:[^\s,\[@]|\[[^\]]*\]?|@[xyz\-](?:,[xyz\-](?![\w\[]))*|@)+", re.IGNORECASE
)

_Text = TypeVar("_Text", bound=str)


# Sizes.


def parse_sizes(text: str) -> tuple[int, ...]:
    """The sizes that a text such as ``256..4096,1e6`` names, in order, each once.

    ``k``, ``M`` and ``G`` are powers of 1024, so that ``4k`` is the 4096 that matrix
    sizes usually are and that the axis of a plot calls 4k. A range doubles from its
    start, or grows by the factor behind it, rounded to whole numbers, and always
    includes its end: ``300..1000`` is 300, 600, 1000, and ``100..200x1.5`` is 100, 150,
    200.

    Raises:
        SelectionError: naming the part that is no size, and what is accepted.
    """
    sizes: list[int] = []
    for part in text.split(","):
        sizes.extend(_parse_part(part.strip() or text.strip()))
    return tuple(dict.fromkeys(sizes))


def _parse_part(part: str) -> list[int]:
    start, dots, end = part.partition("..")
    if not dots:
        return [_parse_number(part, part)]
    grows = _FACTOR.fullmatch(end)
    end, factor = (grows[1], Decimal(grows[2])) if grows else (end, Decimal(2))
    low, high = _parse_number(start.strip(), part), _parse_number(end.strip(), part)
    if low > high:
        upwards = f"{end.strip()}..{start.strip()}"
        raise SelectionError(f'The range "{part}" runs downwards: write {upwards}.')
    grown = (round(low * factor**step) for step in itertools.count())
    sizes = itertools.takewhile(lambda size: size < high, grown)
    below = list(itertools.islice(sizes, MAXIMUM_SIZES))
    if len(below) == MAXIMUM_SIZES:
        raise SelectionError(
            f'The range "{part}" has more than {MAXIMUM_SIZES} sizes: take a larger'
            " factor."
        )
    return [*below, high]  # near 1 some are the same: the caller keeps each once


def _parse_number(text: str, part: str) -> int:
    """Parse a number of ``part``, which a refusal quotes."""
    match = _NUMBER.fullmatch(text)
    value = Decimal(match[1]) * _FACTORS[match[2].lower()] if match else Decimal(0)
    if not 1 <= value <= MAXIMUM_SIZE or value != value.to_integral_value():
        raise SelectionError(
            f'"{part}" is not a size: write a positive whole number up to 1e15 (4096,'
            " 4k for 4 × 1024, 1e6), a range that doubles (256..4096) or grows by a"
            " factor (256..4096x1.41), or a list (1000,2000)."
        )
    return int(value)


_BYTES = re.compile(
    r"([0-9]{1,15}(?:\.[0-9]{1,15})?(?:e\+?[0-9]{1,2})?)\s*([kmg]?)(i?b)?",
    re.IGNORECASE,
)


def parse_bytes(text: str) -> int:
    """A number of bytes such as ``64MiB``, ``64M``, ``64MB`` (of a million each) or
    ``1e6``.

    Raises:
        SelectionError: it is none, or more than any machine holds.
    """
    match = _BYTES.fullmatch(text.strip())
    value = Decimal(0)
    if match is not None:
        prefix, unit = match[2].lower(), (match[3] or "").lower()
        power = ("", "k", "m", "g").index(prefix)
        value = Decimal(match[1]) * (1000 if unit == "b" else 1024) ** power
    if not 1 <= value <= MAXIMUM_SIZE or value != value.to_integral_value():
        raise SelectionError(
            f'"{text.strip()}" is not a size: bytes are a positive whole number up to'
            " 1e15, such as 4096, 4k (4 × 1024), 64MiB or 1e6."
        )
    return int(value)


def halves(size: int, count: int) -> str:
    """Sizes up to this one, as they would be typed: exact halves as far as they go.

    Of a size that cannot be halved twice they are as many, rounded down.
    """
    exact = next(step for step in range(count) if size >> step & 1 or step == count - 1)
    if exact >= 2:
        return f"{size >> exact}..{size}"
    sizes = sorted({max(1, size >> step) for step in range(count)})
    return ",".join(map(str, sizes))


# Names.


class SizedOp(msgspec.Struct, frozen=True):
    """An op by name, with sizes of its own where they were given (``matmul:2k``)."""

    name: str
    sizes: tuple[int, ...] | None = None


def parse_ops(
    texts: Iterable[str], catalogue: Sequence[OpInfo], *, own: bool = False
) -> tuple[SizedOp, ...]:
    """The ops that ``OP`` or ``OP:SIZE`` texts name; ``matmul,selu`` names two.

    Args:
        texts: as they were typed.
        catalogue: the ops that exist.
        own: take functions of files, too: ``path/to/file.py:name``.

    Raises:
        SelectionError: if there is none, or one is not in the catalogue.
    """
    op_names = [op.name for op in catalogue]
    choices: list[SizedOp] = []
    for text in texts:
        if looks_own(text) and (own or ".py" in text or "/" not in text):
            if not own:
                raise SelectionError(
                    f'"{text}" is a function of a file: only `jaxtui bench`,'
                    " `jaxtui crossover` and `jaxtui hlo` take those."
                )
            names, own_sizes = parse_own(text)
            choices += [SizedOp(name, own_sizes) for name in names]
            continue
        name, colon, sizes = text.partition(":")
        if colon:
            op = choose(name, op_names, "op")
            choices.append(SizedOp(op, parse_sizes(sizes)))
        elif choices and _is_size(text):
            raise SelectionError(
                f'There is no op "{text}": write a size after its op, as in'
                f" {choices[-1].name}:{text}, or type it as the size."
            )
        else:
            choices.extend(SizedOp(op) for op in _choose_all(text, op_names, "op"))
    if not choices:
        raise _unknown("op", "", op_names)
    return tuple(dict.fromkeys(choices))


def _is_size(text: str) -> bool:
    try:
        return bool(parse_sizes(text))
    except SelectionError:
        return False


def parse_dtypes(text: str) -> tuple[str, ...]:
    """The dtypes of a list such as ``float32,bf16``."""
    names = (part.strip() for part in text.split(","))
    spelled = ",".join(DTYPE_ALIASES.get(name.lower(), name) for name in names)
    return _choose_all(spelled, DTYPES, "dtype")


def parse_modes(text: str) -> tuple[Mode, ...]:
    """The modes of a list such as ``jit,numpy``, whether or not an op has them."""
    return _choose_all(text, MODES, "mode")


def parse_inputs(text: str) -> tuple[Inputs, ...]:
    """The places of a list such as ``device,host``."""
    return _choose_all(text, INPUTS, "place for inputs")


def parse_precisions(text: str) -> tuple[Precision, ...]:
    """The precisions of a list such as ``default,highest``."""
    return _choose_all(text, PRECISIONS, "precision")


def parse_devices(text: str, devices: Sequence[Device]) -> tuple[str, ...]:
    """The names in a list such as ``cpu:0,tpu:3``, of ``tpu``, ``cpu:0-7`` or ``all``.

    A platform alone names each of its devices, ids with a range the group of them, and
    ``all`` each device and the group of all. Only devices that this process can address
    count, but for groups, which may reach beyond it.

    Raises:
        SelectionError: if one is not there, or belongs to another process.
    """
    own = [device for device in devices if device.addressable]
    remote = {device.name: device for device in devices if not device.addressable}
    names = [device.name for device in own]
    parts: list[str] = []
    for part in (part.strip().lower() for part in text.split(",")):
        if parts and _IDS.fullmatch(part) and id_ranges(parts[-1]):
            parts[-1] += f",{part}"  # more ids of the same group
        else:
            parts.append(part)
    chosen: list[str] = []
    for part in parts:
        of_platform = [device.name for device in own if device.platform == part]
        if part == "all":
            chosen.extend(names)
            if len(devices) > 1:
                chosen.append(group_name(device.name for device in devices))
        elif part in remote:
            owner = remote[part].process_index
            raise SelectionError(
                f"{part} belongs to process {owner}: {_choices(names)}."
            )
        elif part == HOST:
            raise SelectionError(
                'JAX does not run on "host": choose mode numpy for it; for JAX'
                f" {_choices(names)}."
            )
        elif id_ranges(part) and not part.rpartition(":")[2].isdecimal():
            chosen.append(_group(part, id_ranges(part), devices))
        else:
            chosen.extend(of_platform or [choose(part, names, "device")])
    return tuple(dict.fromkeys(chosen))


def _group(text: str, ids: Sequence[range], devices: Sequence[Device]) -> str:
    """The name of a group that was typed.

    Raises:
        SelectionError: a range runs downwards, or one of its devices is not there.
    """
    platform = text.partition(":")[0]
    names = {device.name for device in devices if device.platform == platform}
    typed = text.partition(":")[2].split(",")
    for part, run in zip(typed, ids, strict=True):
        if not run:
            low, _, high = part.partition("-")
            raise SelectionError(
                f'The range "{part}" runs downwards: write {high}-{low}.'
            )
        for number in run:  # the first that is missing ends a range without an end
            if f"{platform}:{number}" not in names:
                groups = (group_name(names),) if names else ()
                raise _unknown("device", f"{platform}:{number}", groups)
    return group_name(members(text))


def parse_mesh(text: str) -> Mesh:
    """The mesh that a text such as ``2x4`` or ``2x4@y`` describes.

    Raises:
        SelectionError: it describes none, or names an axis that it has not.
    """
    try:
        return meshes.parse_mesh(text)
    except ValueError as error:
        raise SelectionError(
            f'"{text}" is not a mesh: write devices per axis such as 8, 2x4 or 2x2x2,'
            " and behind @ the axes of a collective, as in 2x4@y."
        ) from error


def parse_device(
    text: str | None, devices: Sequence[Device], *, groups: bool = False
) -> str:
    """The name of one device such as ``tpu:3``; the first without a text.

    Args:
        text: as it was typed.
        devices: the devices that exist.
        groups: whether a group such as ``tpu:0-7`` will do.

    Raises:
        SelectionError: if it is not there, belongs to another process, or is several.
    """
    if text is None:
        return first_device(devices).name
    names = parse_devices(text, devices)
    if groups:  # of "all" that of all
        names = tuple(name for name in names if len(members(name)) > 1) or names
    else:
        names = tuple(
            dict.fromkeys(device for name in names for device in members(name))
        )
    if len(names) > 1:
        count = len(names)
        raise SelectionError(
            f'"{text}" is {count} devices: name one, such as {names[0]}.'
        )
    return names[0]


def parse_budget(text: str, noun: str = "budget") -> float | None:
    """A time such as ``10`` or ``2.5s`` in seconds; ``None``, the default, if empty.

    The noun is what a refusal calls the time.

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
    if not 0 < seconds <= 86_400:  # a day
        raise SelectionError(
            f'The {noun} "{text}" is not a time: give seconds such as 10, at most a'
            " day."
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


def _choose_all(text: str, choices: Sequence[_Text], noun: str) -> tuple[_Text, ...]:
    return tuple(dict.fromkeys(choose(part, choices, noun) for part in text.split(",")))


def choose(text: str, choices: Sequence[_Text], noun: str) -> _Text:
    """The known name that ``text`` is, whatever its case.

    Raises:
        SelectionError: it is none of them.
    """
    name = text.strip().lower()
    if name in choices:
        return cast("_Text", name)
    raise _unknown(noun, text.strip(), choices)


def _unknown(noun: str, typed: str, choices: Sequence[str]) -> SelectionError:
    # A device is numbered: the nearest is another one, not a better spelling.
    near = "" if noun == "device" else did_you_mean(typed.lower(), choices)
    return SelectionError(f'There is no {noun} "{typed}": {_choices(choices)}.{near}')


def _choices(names: Sequence[str]) -> str:
    """The end of a sentence that refuses a name."""
    return f"choose one of {', '.join(names)}" if names else "there is none here"


# Functions of files.


def looks_own(text: str) -> bool:
    """Return whether a text means a function of a file or module, even if misspelt."""
    text = text.strip()
    if _TYPED.fullmatch(text) is not None or "/" in text:
        return True
    match = _MODULE.fullmatch(text)
    return match is not None and (
        "." in match["module"] or functions.module_file(match["module"]) is not None
    )


def parse_own(text: str) -> tuple[tuple[str, ...], tuple[int, ...] | None]:
    """The ops that ``path/to/file.py:name`` or ``file.py:one,two:2k`` names.

    ``package.module:name`` is the file of that module, which is found in the working
    directory or where this Python looks for modules; nothing is imported.

    Returns:
        Each as ``/path/to/file.py:name``, and the sizes, if any.

    Raises:
        SelectionError: There is no such file, or no function is named.
    """
    text = text.strip()
    if (module := _MODULE.fullmatch(text)) and not _TYPED.fullmatch(text):
        file = functions.module_file(module["module"])
        if file is None:
            raise SelectionError(
                f"There is no module {module['module']} here, nor where this Python"
                " looks for modules: name its file, as in path/to/file.py:name."
            )
        text = f"{file}:{module['names']}"
    match = _TYPED.fullmatch(text)
    if match is None:
        raise SelectionError(
            f'"{text}" is neither an op nor a function of a file: write that as'
            " path/to/file.py:name."
        )
    path = functions.whole_path(match["path"])
    functions.read(path, match["path"])
    names = [name.strip() for name in (match["names"] or "").split(",")]
    if not all(part.isidentifier() for name in names for part in name.split(".")):
        raise SelectionError(
            f'"{text}" is neither an op nor a function of a file: write that as'
            " path/to/file.py:name."
        )
    sizes = None if match["sizes"] is None else parse_sizes(match["sizes"])
    return tuple(f"{path}:{name}" for name in names), sizes


def parse_arguments(texts: Iterable[str]) -> str:
    """Typed arguments such as ``f32[1024,1024]``, as a case keeps them.

    Raises:
        SelectionError: One of them makes no sense.
    """
    try:
        return join_specs(tuple(map(parse_spec, texts)))
    except ValueError as error:
        raise SelectionError(
            f'"{error}" is not an argument: write a dtype and a shape as XLA does,'
            " f32[1024,1024], bf16[8,128], or s32[] for a number, and behind @ an axis"
            " of the mesh (x, y, z) or - for each dimension: f32[64,128]@x,-."
        ) from error


def split_arguments(text: str) -> tuple[str, ...]:
    """The texts of several arguments on one line, separated by blanks or commas.

    Blanks and commas inside of brackets belong to a shape.
    """
    return tuple(_ARGUMENT.findall(text))
