"""What people type, turned into an experiment: sizes, names and their cross product.

The form, the command line and the API share these functions, so that all of them accept
the same texts and answer a mistake with the same sentence.
"""

from __future__ import annotations

import difflib
import itertools
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar, cast

from jaxtui import format as fmt
from jaxtui import functions
from jaxtui.functions import SelectionError
from jaxtui.model import (
    DTYPES,
    HOST,
    HOST_MODES,
    INPUTS,
    MODES,
    PRECISIONS,
    Case,
    Device,
    Experiment,
    Host,
    Inputs,
    Mode,
    OpInfo,
    Precision,
)
from jaxtui.model.own import (
    ARGUMENTS,
    dtype_of,
    is_own,
    join_specs,
    parse_spec,
    parse_specs,
    short_name,
)

__all__ = ["SelectionError"]

MAXIMUM_SIZE = 10**15
"""No machine holds an array of more elements; a larger number is a slip of the hand."""

MAXIMUM_SIZES = 1000
"""More sizes than this are a slip of the hand, too."""

SMALLEST_FACTOR = Decimal("1.01")

SIZES_ACCEPTED = (
    "a size is a positive whole number such as 4096, 4k (4 × 1024) or 1e6, "
    "a doubling range such as 256..4096, a range with a factor of its own such as "
    "256..4096x1.41, or a list such as 1000,2000"
)
"""The second half of every sentence about a size."""

MAXIMUM_BUDGET_SECONDS = 86_400.0
"""A day."""

DEFAULT_BUDGET_SECONDS = 5.0
"""For the experiment that Enter runs in the first minute."""

MANY_CASES = 100
"""More than this may be a slip of the hand: a small factor, or one list too many."""

MANY_SECONDS = 300.0
"""A longer run is a surprise, unless its budget was typed."""

MAXIMUM_CASES = 10_000
"""Hours by default, and more rows than can be read."""

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

ARGUMENTS_ARE_OWN = (
    "--arg describes the arguments of a function of your own: name one, as in "
    "train.py:step."
)
"""Said where it was typed for an op of the catalogue."""

_FACTORS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_FACTOR = re.compile(r"(.*?)\s*[x×*]\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*")
_NUMBER = re.compile(
    r"([0-9]{1,40}(?:\.[0-9]{1,40})?(?:e\+?[0-9]{1,3})?)([kmg]?)", re.IGNORECASE
)
_TYPED = re.compile(
    r"(?P<path>.+\.py)(?::(?P<names>[^:]*)(?::(?P<sizes>.*))?)?", re.DOTALL
)
_ARGUMENT = re.compile(r"(?:[^\s,\[]|\[[^\]]*\]?)+")

_Text = TypeVar("_Text", bound=str)
_Value = TypeVar("_Value")


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
    if not text.strip():
        raise SelectionError(f"The size is empty: {SIZES_ACCEPTED}.")
    sizes: list[int] = []
    for part in text.split(","):
        if not part.strip():
            raise SelectionError(
                f'"{text.strip()}" has an empty place in its list: {SIZES_ACCEPTED}.'
            )
        sizes.extend(_parse_part(part.strip()))
    return tuple(dict.fromkeys(sizes))


def _parse_part(part: str) -> list[int]:
    start, dots, end = part.partition("..")
    if not dots:
        return [_parse_number(part, part)]
    end, factor = _parse_factor(end, part)
    low, high = _parse_number(start.strip(), part), _parse_number(end.strip(), part)
    if low > high:
        raise SelectionError(
            f'The range "{part}" runs downwards: write {end.strip()}..{start.strip()}.'
        )
    grown = (round(low * factor**step) for step in itertools.count())
    sizes = itertools.takewhile(lambda size: size < high, grown)
    found = list(itertools.islice(sizes, MAXIMUM_SIZES))
    if len(found) == MAXIMUM_SIZES:
        raise SelectionError(
            f'The range "{part}" has more than {MAXIMUM_SIZES} sizes: '
            "take a larger factor."
        )
    return [*found, high]  # near 1 some are the same: the caller keeps each once


def _parse_factor(end: str, part: str) -> tuple[str, Decimal]:
    """The end of a range without its factor, and the factor; 2 if it has none."""
    match = _FACTOR.fullmatch(end)
    if match is None:
        return end, Decimal(2)
    factor = Decimal(match[2])
    if factor < SMALLEST_FACTOR:
        raise SelectionError(
            f'The factor of the range "{part}" is too small: '
            f"the smallest accepted is {SMALLEST_FACTOR}."
        )
    return match[1], factor


def _parse_number(text: str, part: str) -> int:
    """One number of ``part``, which is what the sentence quotes."""
    match = _NUMBER.fullmatch(text)
    value = Decimal(match[1]) * _FACTORS[match[2].lower()] if match else Decimal(0)
    if value < 1 or value != value.to_integral_value():
        raise SelectionError(f'"{part}" is not a size: {SIZES_ACCEPTED}.')
    if value > MAXIMUM_SIZE:
        raise SelectionError(
            f'The size "{part}" is larger than any machine can hold: '
            f"the largest accepted is 1e15."
        )
    return int(value)


def halves(size: int, count: int) -> str:
    """Sizes up to this one, as they would be typed: exact halves as far as they go.

    Of a size that cannot be halved twice they are as many, rounded down.
    """
    exact = next(step for step in range(count) if size >> step & 1 or step == count - 1)
    if exact >= 2:
        return f"{size >> exact}..{size}"
    found = sorted({max(1, size >> step) for step in range(count)})
    return ",".join(map(str, found))


# Names.


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
        own: take functions of files, too: ``path/to/file.py:name``.

    Raises:
        SelectionError: if there is none, or one is not in the catalogue.
    """
    known = [op.name for op in catalogue]
    choices: list[OpChoice] = []
    for text in texts:
        if looks_own(text) and (own or ".py" in text):
            if not own:
                raise SelectionError(
                    f'"{text}" is a function of a file: only `jaxtui bench` and '
                    "`jaxtui hlo` take those."
                )
            names, own_sizes = parse_own(text)
            choices += [OpChoice(name, own_sizes) for name in names]
            continue
        name, colon, sizes = text.partition(":")
        if colon:
            op = choose(name, known, "op")
            choices.append(OpChoice(op, parse_sizes(sizes)))
        elif choices and _is_size(text):
            op = choices[-1].name
            raise SelectionError(
                f'There is no op "{text}": a size stands behind its op, as in '
                f"{op}:{text}, or in --size {text}."
            )
        else:
            choices.extend(OpChoice(op) for op in _choose_all(text, known, "op"))
    if not choices:
        raise SelectionError(f"Name at least one op: {listed(known)}.")
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
            chosen.extend(of_platform or [choose(part, names, "device")])
    return tuple(dict.fromkeys(chosen))


def parse_device(text: str | None, devices: Sequence[Device]) -> str:
    """The name of one device such as ``tpu:3``; the first without a text.

    Raises:
        SelectionError: if it is not there, belongs to another process, or is several.
    """
    if text is None:
        return first_device(devices).name
    found = parse_devices(text, devices)
    if len(found) > 1:
        raise SelectionError(
            f'"{text}" is {len(found)} devices: name one, such as {found[0]}.'
        )
    return found[0]


def parse_budget(text: str, noun: str = "budget") -> float | None:
    """A time such as ``10`` or ``2.5s`` in seconds; ``None``, the default, if empty.

    The noun is what the time is called in the sentence that refuses it.

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
            f'The {noun} "{text}" is not a time: give seconds such as 10, '
            "at most a day."
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
    return tuple(dict.fromkeys(choose(part, known, noun) for part in text.split(",")))


def choose(text: str, known: Sequence[_Text], noun: str) -> _Text:
    """The known name that ``text`` is, whatever its case.

    Raises:
        SelectionError: it is none of them.
    """
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
    return ", ".join(names) if names else "none"


# Functions of files.


def looks_own(text: str) -> bool:
    """Whether a text means a function of a file, however it is misspelt."""
    return _TYPED.fullmatch(text.strip()) is not None or "/" in text


def parse_own(text: str) -> tuple[tuple[str, ...], tuple[int, ...] | None]:
    """The ops that ``path/to/file.py:name`` or ``file.py:one,two:2k`` names.

    Returns:
        Each as ``/path/to/file.py:name``, and the sizes, if any.

    Raises:
        SelectionError: There is no such file, or no function is named.
    """
    match = _TYPED.fullmatch(text.strip())
    if match is None:
        raise SelectionError(
            f'"{text}" is neither an op nor a function of a file: '
            "write that as path/to/file.py:name."
        )
    path = functions.whole_path(match["path"])
    if not os.path.isfile(path):
        raise SelectionError(
            f"There is no file {match['path']}.{functions.near_file(path)}"
        )
    names = [name.strip() for name in (match["names"] or "").split(",")]
    if not all(names):
        try:
            listed_here = [one.name for one in functions.listing(path).functions]
        except SelectionError:
            listed_here = []
        first, *others = listed_here or ["step"]
        also = f" (there is also {', '.join(others)})" if others else ""
        raise SelectionError(
            f"Name a function of {match['path']}, as in {match['path']}:{first}{also}."
        )
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise SelectionError(f'"{name}" is no name of a function in "{text}".')
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
        raise SelectionError(str(error)) from error


def split_arguments(text: str) -> tuple[str, ...]:
    """The texts of several arguments on one line, separated by blanks or commas.

    Blanks and commas inside of brackets belong to a shape.
    """
    return tuple(_ARGUMENT.findall(text))


def own_info(op: str) -> OpInfo:
    """What there is to say of ``/path/to/file.py:name`` before it has run."""
    assert is_own(op), op
    return OpInfo.of_function(op, f"The function {op}.")


# Cases.


def build(
    ops: Sequence[OpChoice],
    sizes: Sequence[int] | None = None,
    dtypes: Sequence[str] = ("float32",),
    devices: Sequence[str] | None = None,
    modes: Sequence[Mode] = ("jit",),
    inputs: Sequence[Inputs] = ("device",),
    precisions: Sequence[Precision] = ("default",),
    *,
    catalogue: Sequence[OpInfo],
    known_devices: Sequence[Device],
    budget: float | None = None,
    target: float = 0.03,
    seed: int = 0,
    keep_samples: bool = False,
    arguments: str = "",
) -> Experiment:
    """The experiment of every combination, in the order op, size, dtype, …, inputs.

    What has no meaning for a combination falls back, and a case that arises twice is
    kept once: NumPy and TensorFlow run on the host with default precision, and an op
    without matrix products has only the default precision. Of a function of a file
    the arguments decide about the dtype, and if they were typed about the size.
    A dtype or a mode that an op does not have stays a case, so that whatever was asked
    for ends as a measurement or a named failure; ``problems`` says so beforehand.

    Args:
        ops: what to run; sizes that an op carries replace ``sizes`` for it.
        sizes: ``None`` means each op's own default.
        dtypes: of the inputs.
        devices: by name; ``None`` means the first that this process can address.
        modes: how to execute.
        inputs: where arguments live before each call.
        precisions: of matrix products.
        catalogue: the ops that exist.
        known_devices: the devices that exist.
        budget: seconds for everything; ``None`` means the default.
        target: relative half-width of the interval at which a case stops.
        seed: of the random inputs.
        keep_samples: whether measurements carry every sample.
        arguments: what functions of files are given, as ``parse_arguments``
            makes it; empty if they have a factory.

    Raises:
        SelectionError: if there is no case, or more than ``MAXIMUM_CASES``, or no
            device, or if no op takes any of the precisions.
    """
    own_ops = (own_info(choice.name) for choice in ops if is_own(choice.name))
    infos = {op.name: op for op in (*catalogue, *own_ops)}
    if devices is None:
        devices = [first_device(known_devices).name]
    chosen = [infos[choice.name] for choice in ops]
    if "default" not in precisions and not any(op.takes_precision for op in chosen):
        taking = " and ".join(dict.fromkeys(op.name for op in chosen))
        raise SelectionError(
            f'The precision "{precisions[0]}" is for matrix products: '
            f"{taking} takes only default."
        )
    cases: dict[Case, None] = {}
    lists: dict[str, tuple[int, int]] = {}
    ways: list[tuple[Precision, str, Mode, Inputs]] = [
        *itertools.product(precisions, devices, modes, inputs)
    ]
    wanted = []
    count = 0
    for choice in ops:
        info = infos[choice.name]
        own = info.own and bool(arguments)
        its_sizes = (0,) if own else tuple(choice.sizes or sizes or (info.default,))
        its_dtypes = tuple(dtypes)
        if info.own:
            # Without typed arguments it is known when they are made.
            its_dtypes = (dtype_of(parse_specs(arguments)) if arguments else "",)
        its_ways = dict.fromkeys(_meaningful(way, info) for way in ways)
        wanted.append((info, its_sizes, its_dtypes, its_ways))
        before, _ = lists.get(info.name, (0, 0))
        lists[info.name] = before + len(its_sizes), len(its_dtypes)
        count += len(its_sizes) * len(its_dtypes) * len(its_ways)
    if count > MAXIMUM_CASES:  # before any is made: slips of the hand come to millions
        places = len(devices) if set(modes) - set(HOST_MODES) else 1
        product = _product(
            lists, (len(precisions), places, len(modes), len(inputs)), count
        )
        raise SelectionError(
            f"{product}: one run has at most {fmt.count(MAXIMUM_CASES)}; shorten a "
            "list."
        )
    for info, its_sizes, its_dtypes, its_ways in wanted:
        params: dict[str, int | float | str] = {ARGUMENTS: arguments}
        for size, dtype, way in itertools.product(its_sizes, its_dtypes, its_ways):
            precision, device, mode, place = way
            case = Case(
                op=info.name,
                size=size,
                dtype=dtype,
                precision=precision,
                device=device,
                mode=mode,
                inputs=place,
                params=params if info.own and arguments else None,
            )
            cases[case] = None
    if not cases:
        raise SelectionError("Nothing is selected: name an op, a dtype and a mode.")
    return Experiment(
        cases=tuple(cases),
        budget_seconds=budget,
        target_half_width=target,
        keep_samples=keep_samples,
        seed=seed,
    )


def _meaningful(
    way: tuple[Precision, str, Mode, Inputs], info: OpInfo
) -> tuple[Precision, str, Mode, Inputs]:
    """What of it has a meaning: NumPy and TensorFlow run on the host, and what has no
    matrix products has only the default precision.
    """
    precision, device, mode, place = way
    if mode in HOST_MODES:
        return "default", HOST, mode, "host"
    return precision if info.takes_precision else "default", device, mode, place


def problems(experiment: Experiment, catalogue: Sequence[OpInfo]) -> tuple[str, ...]:
    """Sentences about cases that are known to fail, to be shown while typing.

    Memory is not judged here: that needs the engine's ``Plan``.
    """
    infos, found = {op.name: op for op in catalogue}, dict[str, None]()
    for case in experiment.cases:
        info = infos.get(case.op) or own_info(case.op)
        name = info.name
        if info.problem:
            found[info.problem] = None
        if case.dtype not in info.dtypes and not info.own:
            dtypes = listed(info.dtypes)
            found[f"{name} does not take {case.dtype}: it takes {dtypes}."] = None
        if case.mode not in info.modes:
            modes = listed(info.modes)
            found[f"{name} has no mode {case.mode}: it has {modes}."] = None
    return tuple(found)


def default_experiment(
    devices: Sequence[Device], catalogue: Sequence[OpInfo], host: Host
) -> Experiment:
    """What Enter runs in the first minute: one matmul, and its NumPy twin.

    The size makes one call last milliseconds, so that dispatch and ready lie visibly
    apart, in the dtype that the device is made for; NumPy has no fast bfloat16, so its
    twin is float32.

    Raises:
        SelectionError: if this process can address no device.
    """
    device = first_device(devices)
    if device.platform == "cpu":
        size, dtype = (1000 if (host.cpu_count or 1) <= 4 else 2000), "float32"
    else:
        size, dtype = 8192, "bfloat16"
    op = next((op.name for op in catalogue if op.name == "matmul"), catalogue[0].name)
    return Experiment(
        cases=(
            Case(op=op, size=size, dtype=dtype, device=device.name, mode="jit"),
            Case(
                op=op,
                size=size,
                dtype="float32",
                device=HOST,
                mode="numpy",
                inputs="host",
            ),
        ),
        budget_seconds=DEFAULT_BUDGET_SECONDS,
    )


# How much it is, and in words.


def _product(
    ops: Mapping[str, tuple[int, int]], others: Sequence[int], cases: int
) -> str:
    """What comes to so many cases: ``2 ops × 40 sizes = 80 cases``.

    Args:
        ops: with how many sizes, and in how many dtypes, each is timed.
        others: how many precisions, devices, modes, and places for inputs there are.
        cases: fewer than the combinations where some are the same: NumPy runs on none
            of the devices that it is combined with.
    """
    many, (sizes, dtypes) = len(ops), zip(*ops.values(), strict=True)
    if len(set(ops.values())) == 1:
        factors = [(many, "op"), (sizes[0], "size"), (dtypes[0], "dtype")]
    elif len(set(dtypes)) == 1:
        factors = [(sum(sizes), f"size of {many} ops"), (dtypes[0], "dtype")]
    else:
        pairs = sum(size * dtype for size, dtype in ops.values())
        factors = [(pairs, f"pair of size and dtype for {many} ops")]
    nouns = ("precision", "device", "mode", "place for inputs")
    factors += zip(others, nouns, strict=True)
    combinations = math.prod(count for count, _ in factors)
    what = fmt.plural(cases, "case")
    if combinations == 1:
        return what
    if cases != combinations:
        what = f"{fmt.count(combinations)} combinations, {what} in all"
    texts = []
    for count, noun in factors:
        first, space, rest = noun.partition(" ")
        if count > 1:
            texts.append(f"{fmt.plural(count, first)}{space}{rest}")
    return f"{' × '.join(texts)} = {what}"


@dataclass(frozen=True, slots=True)
class Extent:
    """How many cases, why so many, and for how long."""

    cases: int
    multiplied: str
    """``2 ops × 40 sizes × 3 dtypes × 3 modes = 720 cases``."""
    seconds: float
    """At most: the budget, which includes compiling."""
    typed: bool = False
    """The time was typed, so that it is no surprise."""

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
    cases = experiment.cases
    jax = [case for case in cases if not case.on_host]
    ops = {
        op: (
            len({case.size for case in cases if case.op == op}),
            len({case.dtype for case in cases if case.op == op}),
        )
        for op in dict.fromkeys(case.op for case in cases)
    }
    others = (
        len({case.precision for case in jax} or {""}),
        len({case.device for case in jax} or {""}),
        len({case.mode for case in cases}),
        len({case.inputs for case in jax} or {""}),
    )
    return Extent(
        cases=len(cases),
        multiplied=_product(ops, others, len(cases)),
        seconds=experiment.budget,
        typed=experiment.budget_seconds is not None,
    )


def describe(experiment: Experiment) -> str:
    """The experiment in one line: ``matmul 1000 float32 jit on cpu:0 and NumPy, …``."""
    jax = [case for case in experiment.cases if not case.on_host]
    text = _described(jax or experiment.cases)
    for mode, name in (("numpy", "NumPy"), ("tensorflow", "TensorFlow")):
        twins = _once(case.dtype for case in experiment.cases if case.mode == mode)
        if jax and twins:
            same = twins == _once(case.dtype for case in jax)
            text += f" and {name}" if same else f" and {name} {fmt.some(twins)}"
    if len(experiment.cases) > 2:
        text += f", {len(experiment.cases)} cases"
    return f"{text}, about {how_long(experiment.budget)}"


def how_long(seconds: float) -> str:
    """A time to wait: ``10 s``, ``2.5 min``, ``2.8 h``."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = seconds / 60
    return f"{minutes:.3g} min" if minutes < 120 else f"{minutes / 60:.2g} h"


def _described(cases: Sequence[Case]) -> str:
    first = cases[0]
    words = [
        fmt.some(_once(short_name(case.op) for case in cases)),
        _span(_once(case.size for case in cases if case.size)),
        fmt.some(_once(case.dtype for case in cases)),
        fmt.some([p for p in _once(c.precision for c in cases) if p != "default"]),
        fmt.some(_once(case.mode for case in cases)),
    ]
    if not first.on_host:
        words.append(f"on {fmt.some(_once(case.device for case in cases))}")
        if any(case.inputs == "host" for case in cases):
            words.append("with host inputs")
    return " ".join(word for word in words if word)


def _span(sizes: Sequence[int]) -> str:
    if len(sizes) <= 3:
        return ", ".join(map(str, sizes))
    return f"{min(sizes)} to {max(sizes)}"


def _once(values: Iterable[_Value]) -> list[_Value]:
    return list(dict.fromkeys(values))
