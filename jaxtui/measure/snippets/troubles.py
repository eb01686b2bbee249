"""Why a snippet cannot run, or did not run to its end, in plain words."""

from __future__ import annotations

from typing import Any

from jaxtui.format import bytes_text
from jaxtui.measure import devices
from jaxtui.measure.errors import full_text
from jaxtui.measure.host import available_host_bytes
from jaxtui.measure.snippets.values import headline
from jaxtui.model import WorkFailed

SMALLER = "Choose a smaller size, or free memory."


def refusal(memory_bytes: int, device: Any) -> WorkFailed | None:
    """Why so much memory cannot be had on a JAX device; ``None`` if it can.

    A CPU device computes in the memory of the host.
    """
    free = _free_bytes(device)
    if free is None or memory_bytes <= free:
        return None
    where = "this machine" if device.platform == "cpu" else _name(device)
    return WorkFailed(
        error=(
            f"This needs {bytes_text(memory_bytes)} of memory;"
            f" {where} has {bytes_text(free)} free."
        ),
        hint=SMALLER,
        detail=f"Asked for: {memory_bytes} bytes. Free on {_name(device)}: {free}.",
    )


def failure(what: str, error: Exception) -> WorkFailed:
    """What raised, and its text.

    Args:
        what: The beginning of the sentence.
        error: What was raised.
    """
    memory = isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)
    return WorkFailed(
        error=f"{what} failed: {headline(error)}",
        hint=SMALLER if memory else "The original text has the details.",
        detail=full_text(error),
    )


def _free_bytes(device: Any) -> int | None:
    if device.platform == "cpu":
        return available_host_bytes()
    memory = devices.memory_of(device) or {}
    if "bytes_limit" not in memory:
        return None
    # A TPU keeps the temporaries of its programs in what it calls reserved.
    used = memory.get("bytes_in_use", 0) + memory.get("bytes_reserved", 0)
    return max(0, memory["bytes_limit"] - used)


def _name(device: Any) -> str:
    return f"{device.platform}:{device.id}"
