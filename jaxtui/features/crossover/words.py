"""Crossings of two curves."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.analysis.crossing import about_text, size_text
from jaxtui.view.words.engine import AGAIN
from jaxtui.wording import Facts, Words


def _crossing(facts: Facts) -> str:
    about = about_text(facts["at"], facts["below"], facts["above"])
    below, above = size_text(facts["below"]), size_text(facts["above"])
    return (
        f"From size {about}, {facts['faster']} is faster than"
        f" {facts['slower']}: they cross between {below} and {above}."
    )


def _span(facts: Facts) -> str:
    if facts["low"] == facts["high"]:
        return f"at {size_text(facts['low'])}, the only size of this search"
    return f"from {size_text(facts['low'])} to {size_text(facts['high'])}"


def _ahead(facts: Facts) -> str:
    ahead = f"{facts['faster']} is faster than {facts['slower']}"
    if not facts["undecided"]:
        return f"{ahead} {_span(facts)}"
    certain = facts["sizes"] - len(facts["undecided"])
    return (
        f"{ahead} at {certain} of {facts['sizes']} sizes {_span(facts)}; no difference"
        " seen at the others"
    )


def calls_text(calls: int | None) -> str:
    """``1 call``, ``27 calls``, ``never``."""
    if calls is None:
        return "never"
    if calls >= 10_000:
        # Its digits hang on a single observation of the compile.
        calls = round(float(f"{calls:.1e}"))
    return fmt.plural(calls, "call")


def _repaid(facts: Facts) -> str:
    times = [
        f"after {calls_text(calls)} at size {size_text(size)}"
        for size, calls in zip(facts["sizes"], facts["calls"], strict=True)
    ]
    return (
        f"The first call of {facts['side']}, compile included, pays off "
        f"{fmt.listed(times)}."
    )


WORDS: dict[str, Words] = {
    "crossing": Words("", _crossing),
    "no-crossing": Words("crossing", lambda f: f"No crossing: {_ahead(f)}."),
    "crossing-unknown": Words(
        "crossing",
        lambda f: (
            f"{_ahead(f)}. The engine died before the search ended, so"
            " they may cross at another size."
        ),
        AGAIN,
    ),
    "no-lead": Words(
        "crossing",
        lambda f: (
            f"No difference seen between {f['first']} and {f['second']} {_span(f)}."
        ),
    ),
    "no-common-size": Words(
        "crossing",
        "No size has an interval on both sides, so there is nothing to compare.",
    ),
    "sides": Words(
        "compared",
        "{op}, {first} and {second}; the size is the {size}.",
    ),
    "repaid": Words("first call", _repaid),
    "never-repaid": Words(
        "first call",
        "The first call of {side}, compile included, never pays off at these sizes:"
        " its later calls are not faster.",
    ),
    "sizes-left-out": Words(
        "left out",
        lambda f: (
            f"Calls of size {fmt.some([*map(size_text, f['sizes'])])} take too long"
            " for an interval."
        ),
        "A larger budget times them, too.",
    ),
    "search-stopped": Words(
        "stopped", "The search stopped early: these are its results so far."
    ),
}
