"""How far a compile ahead of time has come, and the JSON document of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from jaxtui.commands.compile_request import DEVICE, Request
from jaxtui.document import SCHEMA
from jaxtui.model import Case, Device, Failure
from jaxtui.model.ahead import (
    AheadAnswer,
    AheadCompiled,
    AheadDescribed,
    AheadFailed,
    AheadHello,
    AheadReady,
    AheadTook,
    Compiled,
    Stage,
)
from jaxtui.model.machine import chip_count

CLOCKS: tuple[Stage, ...] = ("warm-up", "trace", "lower", "compile")
"""The stages whose seconds are reported."""


@dataclass
class Outcome:
    """What has arrived; read when it is interrupted."""

    request: Request
    case: Case | None = None
    """``None`` before the catalogue is known."""
    libtpu: str | None = None
    jax: str | None = None
    devices: Sequence[Device] = ()
    took: dict[Stage, float] = field(default_factory=dict)
    compiled: Compiled | None = None
    failure: Failure | None = None

    def take(self, answer: AheadAnswer) -> None:
        """Take in what the process says."""
        match answer:
            case AheadHello(libtpu=version):
                self.libtpu = version
            case AheadReady(jax=version):
                self.jax = version
            case AheadDescribed(devices=devices):
                self.devices = devices
            case AheadTook(stage=stage, seconds=seconds):
                self.took[stage] = seconds
            case AheadCompiled(compiled=compiled):
                self.compiled, self.case = compiled, compiled.case
            case AheadFailed(failure=failure):
                self.failure = failure
            case _:
                pass

    @property
    def device_kind(self) -> str | None:
        """Of the device that was compiled for."""
        return self.devices[0].device_kind if self.devices else None

    @property
    def label(self) -> str:
        """The case and the topology in one line."""
        what = self.case.label if self.case else f"{self.request.op} on {DEVICE}"
        return f"{what} of {self.request.asked}"

    def fail(self, error: str, hint: str, detail: str = "") -> None:
        """There is no result, and this is why."""
        assert self.case is not None
        self.failure = Failure(case=self.case, error=error, hint=hint, detail=detail)


def document(outcome: Outcome) -> dict[str, Any]:
    """The JSON document as plain objects; what is not known is ``None``."""
    compiled = outcome.compiled
    facts = (
        msgspec.structs.asdict(compiled)
        if compiled
        else dict.fromkeys(Compiled.__struct_fields__)
    )
    clocks = {
        f"{stage.replace('-', '_')}_seconds": outcome.took.get(stage)
        for stage in CLOCKS
    }
    return {
        "schema": SCHEMA,
        "case": outcome.case,
        "topology": _topology(outcome),
        "device_kind": outcome.device_kind,
        "libtpu": outcome.libtpu,
        "jax": outcome.jax,
        **clocks,
        **{name: facts[name] for name in facts if name not in _TOLD | clocks.keys()},
        "source": compiled.peak.source if compiled and compiled.peak else None,
        "failure": outcome.failure,
    }


_TOLD = {"case", "device_kind"}


def _topology(outcome: Outcome) -> dict[str, Any]:
    """What was asked for, and what libtpu says of it if it has said so."""
    devices, topology = outcome.devices, outcome.request.topology
    return {
        "asked": outcome.request.asked,
        "name": topology.name,
        "options": topology.options,
        "devices": len(devices) or None,
        "chips": chip_count(devices) or None,
        "processes": len({device.process_index for device in devices}) or None,
    }
