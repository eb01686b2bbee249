"""What another machine measured, from a document that was saved there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from jaxtui.document import SCHEMA
from jaxtui.model import HOST, Host, Measurement, Record
from jaxtui.selection import SelectionError


@dataclass(frozen=True)
class Ghost:
    """Measurements that are drawn beside the learner's own."""

    label: str
    """Which machine they are from, and what computed there."""
    measurements: tuple[Measurement, ...]


NO_GHOST = Ghost("", ())


class _Step(Record, frozen=True, kw_only=True):
    measurements: tuple[Measurement, ...] = ()


class _Document(Record, frozen=True, kw_only=True):
    """What ``jaxtui bench --json`` and ``jaxtui learn NAME --json`` have in common."""

    schema: int
    host: Host | None = None
    measurements: tuple[Measurement, ...] = ()
    steps: tuple[_Step, ...] = ()


def read_ghost(path: str) -> Ghost:
    """The measurements of a saved document.

    Raises:
        SelectionError: if there is no such file, or it holds no measurements.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise SelectionError(
            f'"{path}" cannot be read: {error.strerror or error}.'
        ) from error
    try:
        document = msgspec.json.decode(data, type=_Document)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _refused(path, f"it does not look like one ({error})") from error
    if document.schema != SCHEMA:
        raise _refused(path, f"its schema is {document.schema} and not {SCHEMA}")
    found = document.measurements + tuple(
        measurement for step in document.steps for measurement in step.measurements
    )
    if not found:
        raise _refused(path, "it has no measurements in it")
    return Ghost(_label(document.host, found), _newest(found))


def _refused(path: str, why: str) -> SelectionError:
    return SelectionError(
        f'"{path}" is no document of `jaxtui learn NAME --json` or '
        f"`jaxtui bench --json`: {why}."
    )


def _newest(measurements: tuple[Measurement, ...]) -> tuple[Measurement, ...]:
    """The last of each case: several steps of a lesson may have timed the same."""
    return tuple(
        one
        for index, one in enumerate(measurements)
        if all(one.case != later.case for later in measurements[index + 1 :])
    )


def _label(host: Host | None, measurements: tuple[Measurement, ...]) -> str:
    """Such as ``tpu-vm-7, tpu:0``."""
    used = dict.fromkeys(one.case.device for one in measurements)
    devices = [device for device in used if device != HOST]
    hostname = host.hostname if host else "another machine"
    return ", ".join([hostname, *devices[:1]])
