"""Learn: why the verdict of a step may not be believed."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.wording import Facts, Words


def _unsteady(facts: Facts) -> str:
    low, high = fmt.seconds(facts["low"]), fmt.seconds(facts["high"])
    interval = fmt.interval_name(facts["confidence"])
    return (
        f"{facts['name']} varied: its median is between {low} and {high} ({interval})."
    )


WORDS = {
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
        "unsteady figure",
        _unsteady,
        "Run the step again before you believe it.",
    ),
}
