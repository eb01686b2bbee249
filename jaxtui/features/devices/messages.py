"""The document of ``devices``."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from jaxtui.core.model import Device, Host
from jaxtui.core.model.document import Document
from jaxtui.ui.documents import DeviceRow


class Devices(Document, frozen=True, kw_only=True):
    """The devices that JAX sees on a machine, or on a TPU that is not here."""

    command: str = "devices"
    hosts: tuple[Host, ...] | msgspec.UnsetType = msgspec.UNSET
    """The host of each process by its index, where there are several."""
    devices: tuple[DeviceRow, ...]

    @classmethod
    def of(
        cls, host: Host | None, devices: Sequence[Device], hosts: Sequence[Host] = ()
    ) -> Devices:
        return cls(
            host=host,
            complete=bool(devices),
            hosts=tuple(hosts) or msgspec.UNSET,
            devices=tuple(map(DeviceRow.of, devices)),
        )
