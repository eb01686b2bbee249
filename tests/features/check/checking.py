"""A health check whose readings a test makes up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxtui.core.model import (
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    Event,
    RunFinished,
    RunStarted,
)
from tests.core.figures import reading

Script = Callable[[Check], Sequence[Event]]


def sound(check: Check, device: str = "", **trouble: Any) -> list[Event]:
    """Every device has a reading; what is changed of it is changed of one of them."""
    facts: dict[str, Any] = {
        "test": check.test,
        "what": f"some {check.test}",
        "measured": 1e11,
    }
    readings = [
        reading(**facts | {"device": name} | (trouble if name == device else {}))
        for name in check.devices
    ]
    return [
        RunStarted(),
        CheckDoing(devices=check.devices),
        *(CheckRead(reading=one) for one in readings),
        *(CheckDone(device=name) for name in check.devices),
        RunFinished(outcome="complete", elapsed_seconds=1.0),
    ]
