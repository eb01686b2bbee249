"""The environment that the engine needs before jax is imported."""

from __future__ import annotations

from collections.abc import Mapping

SIMULATED = "JAXTUI_SIMULATED"
"""Set to ``1`` when the CPU devices were made up by ``--cpu-devices``."""


def engine_environment(
    base: Mapping[str, str], cpu_devices: int | None = None
) -> dict[str, str]:
    """The environment of an engine process; pure, so it can be shown and tested.

    Args:
        base: The environment that the engine would have otherwise; what it says about
            platforms and logging stays as it is.
        cpu_devices: Simulate this many CPU devices and use no accelerator.
    """
    changed = dict(base)
    # A warm persistent cache would be read as a compile of a few milliseconds.
    changed["JAX_ENABLE_COMPILATION_CACHE"] = "0"
    # JAX takes 75 % of a GPU at its first op; whoever shares the GPU would mind.
    changed.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if cpu_devices is not None:
        changed["JAX_PLATFORMS"] = "cpu"
        changed["JAX_NUM_CPU_DEVICES"] = str(cpu_devices)
        changed[SIMULATED] = "1"
    return changed
