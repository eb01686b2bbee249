"""What can be exported: a module for each tab, imported by the first export."""

from __future__ import annotations

from jaxtui.tui.offers.bench import of_run
from jaxtui.tui.offers.devices import of_check, of_devices, with_devices
from jaxtui.tui.offers.history import of_past
from jaxtui.tui.offers.learn import of_step

__all__ = [
    "of_check",
    "of_devices",
    "of_past",
    "of_run",
    "of_step",
    "with_devices",
]
