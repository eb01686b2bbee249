"""See the JAX devices of a machine and time what they do, honestly.

In a notebook ``jaxtui.bench``, ``jaxtui.devices`` and ``jaxtui.ops`` work in this
process, because it owns its accelerator already; they are imported when first used.
"""

from __future__ import annotations

# Type checkers take this for true. Importing ``typing`` for it would take as long as
# starting Python does, before the engine of a bare ``jaxtui`` could begin.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from jaxtui.api import bench as bench
    from jaxtui.api import devices as devices
    from jaxtui.api import ops as ops

__version__ = "0.1.0"

__all__ = ["__version__", "bench", "devices", "ops"]


def __getattr__(name: str) -> Any:
    if name in ("bench", "devices", "ops"):
        import importlib

        return getattr(importlib.import_module("jaxtui.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
