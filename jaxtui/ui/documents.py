"""The parts of the documents that ``--json`` prints, and their encoding."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jaxtui.core.model import Device, Fact, Host, Record, Remark, WorkFailed
from jaxtui.core.model.base import encoded
from jaxtui.core.model.document import Note
from jaxtui.core.text import visible_json
from jaxtui.ui import words


class ProblemRow(Record, frozen=True, kw_only=True):
    """The reason why a work has no result."""

    code: str
    facts: dict[str, Fact]
    error: str
    hint: str
    detail: str

    @classmethod
    def of(cls, failed: WorkFailed) -> ProblemRow:
        remark = failed.remark
        return cls(
            code=remark.code,
            facts=remark.facts,
            error=words.sentence(remark),
            hint=words.advice(remark),
            detail=remark.detail,
        )


def problem(failed: WorkFailed | None) -> ProblemRow | None:
    return None if failed is None else ProblemRow.of(failed)


class DeviceRow(Record, frozen=True, kw_only=True):
    """The facts of a device in JSON; an absent fact is ``null``."""

    id: int
    platform: str
    device_kind: str
    process_index: int
    local_hardware_id: int | None
    coords: tuple[int, ...] | None
    core_on_chip: int | None
    slice_index: int | None
    memory: dict[str, int] | None
    simulated: bool
    hostname: str | msgspec.UnsetType = msgspec.UNSET
    """The name of its host, where there are several processes."""

    @classmethod
    def of(cls, device: Device) -> DeviceRow:
        return cls(**{name: getattr(device, name) for name in cls.__struct_fields__})


MACHINE = ("hostname", "cpu", "jax")
"""The facts that a report names of the machine."""


def machine(host: Host | None, *facts: str, by: str = ", ") -> str:
    """Name the machine, as ``box, Xeon E5, jax 0.12.0``; empty where nothing is
    known.

    The facts stand in their order: ``hostname``, ``cpu``, ``jax`` …
    """
    if host is None:
        return ""
    libtpu = host.plugins.get("libtpu")
    texts = {
        "hostname": host.hostname,
        "cpu": host.cpu_model or "",
        "python": f"Python {host.python}",
        "jax": f"jax {host.jax}",
        "jaxlib": f"jaxlib {host.jaxlib}",
        "numpy": f"numpy {host.numpy}",
        "libtpu": f"libtpu {libtpu}" if libtpu else "",
    }
    return by.join(filter(None, (texts[fact] for fact in facts)))


def notes(remarks: Iterable[Remark]) -> tuple[Note, ...]:
    """The remarks of an engine as the notes of a document."""
    return tuple(
        Note(flag=x.code, text=words.text(x), level=x.severity, facts=x.facts)
        for x in remarks
    )


def encode(document: object) -> bytes:
    """Encode a document as JSON with a newline; a float that is not finite becomes
    ``null``.

    Its remarks have their words.
    """
    return visible_json(encoded(words.with_text(document))) + b"\n"
