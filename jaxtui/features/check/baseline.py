"""A saved document of ``jaxtui check --json``, to compare a machine with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from jaxtui.core.comparison import host_facts, value_text
from jaxtui.core.model import Device, Host, Reading, Record, SelectionError
from jaxtui.core.places import read_whole
from jaxtui.core.text import ended
from jaxtui.features.check.messages import Figure

SCHEMAS = (1, 2)
"""Versions of the documents that can be read."""

OPTIONS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")
"""Variables that change what the compiler makes; the others mostly name places."""


class _Device(Record, frozen=True, kw_only=True):
    id: int
    platform: str
    device_kind: str
    simulated: bool = False

    @property
    def name(self) -> str:
        return f"{self.platform}:{self.id}"


class _Document(Record, frozen=True, kw_only=True):
    """The fields that are read of a document, whatever else later versions have."""

    schema: int
    host: Host | None = None
    devices: tuple[_Device, ...]
    tests: tuple[Figure, ...]


class Baseline(Record, frozen=True, kw_only=True):
    """Figures of an earlier check, and the hardware that they belong to."""

    file: str
    host: Host
    devices: tuple[_Device, ...]
    figures: tuple[Figure, ...]
    """The figures to compare with: measured, and not wrong."""

    @property
    def name(self) -> str:
        return Path(self.file).name

    def find(self, reading: Reading, device: Device | None = None) -> Figure | None:
        """The figure that a reading is comparable with.

        It is that of the same device, or else of another one of the same kind.
        """
        key = (reading.test, reading.what, reading.unit)
        same = [
            figure
            for figure in self.figures
            if (figure.test, figure.what, figure.unit) == key
        ]
        for figure in same:
            if figure.device == reading.device:
                return figure
        if device is None or reading.device is None:
            return None
        kinds = {row.name: row.device_kind for row in self.devices}
        alike = (
            figure
            for figure in same
            if kinds.get(figure.device or "") == device.device_kind
        )
        return next(alike, None)


def load(file: str) -> Baseline:
    """Read one.

    Raises:
        SelectionError: It cannot be read, is no such document, or has no figures.
    """
    try:
        document = read_whole(Path(file))
    except OSError as error:
        why = error.strerror or str(error)
        raise SelectionError(f"Cannot read {file}: {ended(why)}") from error
    baseline = decode(document, file)
    if not baseline.figures:
        raise _no_document(file, "it has no figures")
    return baseline


def decode(document: bytes, file: str) -> Baseline:
    """Read the document of a file with this name.

    Raises:
        SelectionError: It is no such document.
    """
    try:
        saved = msgspec.json.decode(document, type=_Document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _no_document(file, f"it has another structure ({error})") from error
    if saved.schema not in SCHEMAS:
        raise _no_document(file, f"its schema is {saved.schema}")
    if saved.host is None:
        raise _no_document(file, "it has no figures")
    figures = tuple(
        figure
        for figure in saved.tests
        if figure.verdict in ("pass", "low") and figure.measured is not None
    )
    return Baseline(file=file, host=saved.host, devices=saved.devices, figures=figures)


def _no_document(file: str, why: str) -> SelectionError:
    return SelectionError(f"{file} is not a document of `jaxtui check --json`: {why}.")


class Difference(NamedTuple):
    name: str
    """The name of a fact, such as ``jax`` or ``processor``."""
    before: str
    now: str

    def __str__(self) -> str:
        return f"{self.name} {self.before} → {self.now}"


def other_hardware(
    baseline: Baseline, devices: Sequence[Device], host: Host
) -> tuple[Difference, ...]:
    """Return the differences that make the figures meaningless here.

    Platform, kinds of device and their numbers; where there are only CPU devices, also
    the model of the processor and the number of its cores, if both are known. Another
    name of the machine never matters.
    """
    return tuple(_other_hardware(baseline, devices, host))


def differences(baseline: Baseline, host: Host) -> tuple[Difference, ...]:
    """Return the differences besides the hardware: versions, options."""
    before, now = baseline.host.environment, host.environment
    facts = [*host_facts(baseline.host, host)]
    facts += [(name, before.get(name), now.get(name)) for name in OPTIONS]
    return tuple(
        Difference(name, value_text(old), value_text(new))
        for name, old, new in facts
        if old != new
    )


def _other_hardware(
    baseline: Baseline, devices: Sequence[Device], host: Host
) -> Iterator[Difference]:
    old, new = _counts(baseline.devices), _counts(devices)
    platforms = [
        ", ".join(sorted({device.platform for device in group}))
        for group in (baseline.devices, devices)
    ]
    if old != new:
        yield Difference("devices", old, new)
    elif len(set(platforms)) > 1:
        yield Difference("platform", *platforms)
    if set(platforms) != {"cpu"}:
        return
    before = baseline.host
    for name, was, now in (
        ("processor", before.cpu_model, host.cpu_model),
        ("cores", before.cores, host.cores),
    ):
        if was and now and was != now:
            yield Difference(name, str(was), str(now))


def _counts(devices: Sequence[Any]) -> str:
    """``8 × TPU v5 lite``, ``4 × cpu (simulated)``."""
    kinds = Counter(
        device.device_kind + (" (simulated)" if device.simulated else "")
        for device in devices
    )
    return ", ".join(f"{number} × {kind}" for kind, number in sorted(kinds.items()))
