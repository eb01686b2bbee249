"""A health check whose readings a test makes up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxtui.model import (
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckStarted,
    Event,
    Expected,
    Reading,
    RunFinished,
)

PEAK = Expected(value=200e12, kind="peak", source="the data sheet")
Script = Callable[[Check], Sequence[Event]]


def reading(check: Check, device: str, **changes: object) -> Reading:
    facts: dict[str, object] = {
        "test": check.test,
        "device": device,
        "what": f"some {check.test}",
        "unit": "flop/s",
        "measured": 1e11,
    }
    return Reading(**{**facts, **changes})  # type: ignore[arg-type]


def sound(
    check: Check, test: str = "", device: str = "", **trouble: object
) -> list[Event]:
    """Every device has a reading; what is changed of it is changed of one of them."""
    readings = [
        reading(
            check, name, **(trouble if (check.test, name) == (test, device) else {})
        )
        for name in check.devices
    ]
    return [
        CheckStarted(check=check),
        CheckDoing(devices=check.devices, what=f"doing {check.test}"),
        *(CheckRead(reading=one) for one in readings),
        *(CheckDone(device=name) for name in check.devices),
        RunFinished(outcome="complete", elapsed_seconds=1.0),
    ]


def with_trouble(test: str, device: str, **trouble: object) -> Script:
    """Everything is sound but one reading."""
    return lambda check: sound(check, test, device, **trouble)
