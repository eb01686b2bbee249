"""Learn: why a program failed, and why a verdict may not be believed."""

from __future__ import annotations

from jaxtui.core import format as fmt
from jaxtui.core.signals import signal_name
from jaxtui.core.text import ended
from jaxtui.core.wording import Facts, Words


def _unsteady(facts: Facts) -> str:
    low, high = fmt.seconds(facts["low"]), fmt.seconds(facts["high"])
    interval = fmt.interval_name(facts["confidence"])
    return (
        f"{facts['name']} varied: its median is between {low} and {high} ({interval})."
    )


def _process_ended(facts: Facts) -> str:
    status = facts["status"]
    how = (
        f"died of {signal_name(-status)}"
        if status < 0
        else f"exited with code {status}"
    )
    return f"The process with {facts['devices']} CPU devices {how}."


def _in_part(part: str) -> str:
    if part == "setup":
        return " in its setup"
    return f" in its part {part!r}" if part else ""


WORDS = {
    "program-failed": Words(
        "failed program",
        lambda facts: (
            f"The program failed{_in_part(facts['part'])}: {ended(facts['error'])}"
        ),
    ),
    "process-ended": Words(
        "process ended", _process_ended, "The log has its last lines."
    ),
    "step-disturbed": Words(
        "busy machine",
        "Other programs used the CPU cores during this step.",
        "Run it again on an idle machine.",
    ),
    "step-incomplete": Words(
        "incomplete",
        "The engine died during this step, so it proves nothing.",
        "Run it again; a smaller size needs less memory.",
    ),
    "step-unsteady": Words(
        "unsteady figure", _unsteady, "Run the step again before you believe it."
    ),
}
