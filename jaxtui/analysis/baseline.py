"""A machine's own figures, kept to compare it with itself or with one like it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from jaxtui.analysis import thresholds
from jaxtui.analysis.comparison import host_facts, value_text
from jaxtui.model import Device, Host, Reading, Record
from jaxtui.places import (
    data_folder,
    make_private,
    put_aside,
    read_whole,
    write_whole,
)
from jaxtui.text import did_you_mean

SCHEMA = 1
"""Version of the file; a change that older files do not survive raises it."""

SUFFIX = ".json"

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
"""What a baseline may be called: no path, and nothing that hides itself."""

OPTIONS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")
"""Variables that change what the compiler makes; the others mostly name places."""


class BaselineError(Exception):
    """A baseline cannot be read, written or compared; the text is for people."""


class BaselineNameError(BaselineError):
    """There is no baseline of this name, or can be none."""


class Baseline(Record, frozen=True, kw_only=True):
    """The file: readings, and the hardware that they belong to."""

    schema: int = SCHEMA
    name: str
    saved_at: str
    """UTC, ISO 8601."""
    host: Host
    devices: tuple[Device, ...]
    readings: tuple[Reading, ...]

    def find(self, reading: Reading, device: Device | None = None) -> Reading | None:
        """The reading that this one is comparable with.

        It is that of the same device, or else of another one of the same kind.
        """
        key = (reading.test, reading.what, reading.unit)
        same = [one for one in self.readings if (one.test, one.what, one.unit) == key]
        for one in same:
            if one.device == reading.device:
                return one
        if device is None or reading.device is None:
            return None
        kinds = {other.name: other.device_kind for other in self.devices}
        alike = (
            one for one in same if kinds.get(one.device or "") == device.device_kind
        )
        return next(alike, None)


class _Version(Record, frozen=True):
    """What every version of the file has."""

    schema: int


def folder() -> Path:
    """Where baselines are kept: ``baselines`` in the platform's data directory."""
    return data_folder() / "baselines"


def check_name(name: str) -> str:
    """The name, if a baseline may have it.

    Raises:
        BaselineNameError: It may not; the text says what is accepted.
    """
    if not NAME.fullmatch(name):
        raise BaselineNameError(
            f'A baseline cannot be called "{name}": give a name of at most 64 letters,'
            " digits, dots, underscores and hyphens that does not begin with a dot."
        )
    return name


def names() -> tuple[str, ...]:
    """Every baseline that can be asked for, sorted; none if the folder is missing.

    Raises:
        BaselineError: The folder cannot be read.
    """
    try:
        found = [path.name for path in folder().iterdir()]
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise BaselineError(
            f"The baselines in {folder()} cannot be listed: {_why(error)}."
        ) from error
    stems = (name.removesuffix(SUFFIX) for name in found if name.endswith(SUFFIX))
    return tuple(sorted(stem for stem in stems if NAME.fullmatch(stem)))


def save(baseline: Baseline) -> Path:
    """Write it atomically; one of the same name is replaced.

    Only readings that others can be compared with are kept: those with a figure,
    without a fault, and not beyond what the device can do.

    Returns:
        The file.

    Raises:
        BaselineError: The name is no file name, there is no figure to keep, or the file
            cannot be written; then what was there before is still there.
    """
    check_name(baseline.name)
    kept = tuple(one for one in baseline.readings if _is_comparable(one))
    if not kept:
        raise BaselineError(
            f'There is no figure to keep as the baseline "{baseline.name}": nothing was'
            " measured without a fault."
        )
    path = folder() / f"{baseline.name}{SUFFIX}"
    document = msgspec.json.encode(msgspec.structs.replace(baseline, readings=kept))
    try:
        make_private(data_folder())
        make_private(path.parent)
        write_whole(path, msgspec.json.format(document, indent=1) + b"\n")
    except OSError as error:
        raise BaselineError(
            f'The baseline "{baseline.name}" cannot be written to {path}:'
            f" {_why(error)}."
        ) from error
    return path


def load(name: str) -> Baseline:
    """Read one.

    A file that cannot be understood, or is of an older version, is kept aside under
    another name. One that a newer jaxtui has written stays where it is.

    Raises:
        BaselineNameError: There is none of this name; the text says which there are.
        BaselineError: Its file cannot be read, is broken, or of another version.
    """
    check_name(name)
    path = folder() / f"{name}{SUFFIX}"
    try:
        document = read_whole(path)
    except FileNotFoundError:
        raise BaselineNameError(_unknown(name)) from None
    except OSError as error:
        raise BaselineError(
            f'The baseline "{name}" cannot be read from {path}: {_why(error)}.'
        ) from error
    return msgspec.structs.replace(_decode(name, path, document), name=name)


def refuse_other_hardware(
    baseline: Baseline, devices: tuple[Device, ...], host: Host | None = None
) -> None:
    """Nothing, if the baseline is of the same kind and number of devices.

    Args:
        baseline: What is to be compared with.
        devices: Those that are tested; the baseline has those that were.
        host: The machine. Where there are only CPU devices its processor must be the
            same, too; another name of the machine never matters.

    Raises:
        BaselineError: It is not; the text says what differs.
    """
    found = ". ".join(_other_hardware(baseline, devices, host))
    if found:
        raise BaselineError(
            f'The baseline "{baseline.name}" is of other hardware. {found}.'
        )


def differences(baseline: Baseline, host: Host) -> tuple[str, ...]:
    """What besides the hardware is not as it was, a phrase each: versions, options."""
    before, now = baseline.host.environment, host.environment
    facts = [*host_facts(baseline.host, host)]
    facts += [(name, before.get(name), now.get(name)) for name in OPTIONS]
    return tuple(f"{name}: {_both(old, new)}" for name, old, new in facts if old != new)


def _other_hardware(
    baseline: Baseline, devices: Sequence[Device], host: Host | None
) -> Iterator[str]:
    """What makes the figures meaningless here, a phrase each.

    Platform, kinds of device and their numbers; where there are only CPU devices, also
    the model of the processor and the number of its cores, if both are known.
    """
    old, new = _counts(baseline.devices), _counts(devices)
    platforms = [
        ", ".join(sorted({one.platform for one in each}))
        for each in (baseline.devices, devices)
    ]
    if old != new:
        yield _both(old, new)
    elif len(set(platforms)) > 1:
        yield f"platform: {_both(*platforms)}"
    if host is None or set(platforms) != {"cpu"}:
        return
    before = baseline.host
    for name, was, now in (
        ("processor", before.cpu_model, host.cpu_model),
        ("cores", before.cpu_count, host.cpu_count),
    ):
        if was and now and was != now:
            yield f"{name}: {_both(was, now)}"


def _counts(devices: Sequence[Device]) -> str:
    """``8 × TPU v5 lite``, ``4 × cpu (simulated)``."""
    kinds = Counter(
        device.device_kind + (" (simulated)" if device.simulated else "")
        for device in devices
    )
    return ", ".join(f"{number} × {kind}" for kind, number in sorted(kinds.items()))


def _both(before: object, now: object) -> str:
    return f"baseline: {value_text(before)}; here: {value_text(now)}"


def _is_comparable(reading: Reading) -> bool:
    if reading.measured is None or not math.isfinite(reading.measured):
        return False
    if reading.fault or reading.skipped:
        return False
    expected = reading.expected
    if expected is None or expected.kind != "peak":
        return True
    return reading.measured <= thresholds.IMPOSSIBLE.factor * expected.value


def _decode(name: str, path: Path, document: bytes) -> Baseline:
    try:
        version = msgspec.json.decode(document, type=_Version).schema
        if version == SCHEMA:
            return msgspec.json.decode(document, type=Baseline)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        told = f'The file of the baseline "{name}" is broken ({error}).'
        raise BaselineError(f"{told} {_move_aside(path)}") from error
    if version > SCHEMA:
        raise BaselineError(
            f'The baseline "{name}" was saved by a newer jaxtui (version {version} of'
            f" the file; this one reads version {SCHEMA}): {path}"
        )
    raise BaselineError(
        f'The baseline "{name}" was saved by an older jaxtui (version {version} of the'
        f" file; this one reads version {SCHEMA}). {_move_aside(path)}"
    )


def _move_aside(path: Path) -> str:
    try:
        return f"It was moved aside to {put_aside(path)}; save the baseline again."
    except OSError as error:
        return f"It could not be moved aside ({_why(error)}): {path}"


def _unknown(name: str) -> str:
    known = names()
    if not known:
        return (
            f'There is no baseline "{name}", and no other one:'
            f" `jaxtui check --save-baseline {name}` makes it."
        )
    return (
        f'There is no baseline "{name}": there is {", ".join(known)}.'
        f"{did_you_mean(name, known)}"
    )


def _why(error: OSError) -> str:
    """What the system says, without number and path."""
    return error.strerror or str(error)
