"""The plain-JAX script of a loop."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.model import Loop, LoopStyle, PlannedCase
from jaxtui.text import docstring

REPEATS = 7
"""So many loops are timed at least, after one that is not."""

SECONDS = 1
"""How long loops are timed at least. In the first milliseconds of a process the system
has not spread its threads over the cores."""

TITLES: dict[LoopStyle, str] = {
    "never": "waiting for none",
    "end": "waiting once, at the end",
    "each": "waiting for each",
    "asarray": "np.asarray of each",
    "print": "printing each",
}

WAITS: dict[LoopStyle, str] = {
    "each": "{x}.block_until_ready()",
    "asarray": "np.asarray({x})",
    "print": "print({x}.ravel()[0], file=sink)",
}
"""What a style does with every result."""

OWN_WAITS: dict[LoopStyle, tuple[str, ...]] = {
    "each": ("jax.block_until_ready(result)",),
    "asarray": ("jax.device_get(result)",),
    "print": (
        "arrays = [x for x in jax.tree.leaves(result) if isinstance(x, jax.Array)]",
        "print(min(arrays, key=np.size).ravel()[0], file=sink)",
    ),
}
"""The same where a result may be a tree of arrays."""

WHOLE = """\

# Does the next call take the result, or the first of several?
whole = jax.tree.structure(f(*args)) == jax.tree.structure(args[0])
"""

PRINTING = """

repeats = [loop()]  # the first time takes longer
end = time.perf_counter() + {seconds}
while len(repeats) <= {repeats} or time.perf_counter() < end:
    repeats.append(loop())
stopwatch, true = zip(*repeats[1:])
print(f"stopwatch {{statistics.median(stopwatch):.3e}} s")
print(f"true {{statistics.median(true):.3e}} s")
"""


def loop_script(loop: Loop, planned: PlannedCase) -> str:
    """A script that runs exactly this loop and prints the medians of both clocks.

    Args:
        loop: The loop.
        planned: The plan of its case, whose ``setup`` defines ``f`` and ``args``.
    """
    imports = "import io\n" if loop.style == "print" else ""
    lines = _own_body(loop) if planned.own else _body(loop)
    body = "\n".join(f"    {line}" for line in lines)
    function = f"def loop():\n{body}\n"
    whole = WHOLE if planned.own and loop.chained else ""
    printing = PRINTING.format(repeats=REPEATS, seconds=SECONDS)
    title = docstring(f"{loop_title(loop)}.")
    return f"{title}\n\n{imports}{planned.setup}{whole}\n\n{function}{printing}"


def loop_title(loop: Loop) -> str:
    """A loop in one line: what its script says of itself."""
    linked = "chained" if loop.chained else "independent"
    calls = "1 call" if loop.calls == 1 else f"{loop.calls} {linked} calls"
    return f"{loop.case.label}: {calls}, {TITLES[loop.style]}"


def _body(loop: Loop) -> list[str]:
    """The lines of the function that is the loop."""
    x = "x" if loop.chained else "result"
    call = "x = f(x, *rest)" if loop.chained else "result = f(*args)"
    wait = WAITS.get(loop.style)
    return _lines(
        loop,
        call=[call],
        wait=[wait.format(x=x)] if wait else [],
        ready=f"{x}.block_until_ready()",
    )


def _own_body(loop: Loop) -> list[str]:
    """The same for a function that may return a tree of arrays."""
    call, carry = "result = f(*args)", []
    if loop.chained:
        call, carry = "result = f(x, *rest)", ["x = result if whole else result[0]"]
    return _lines(
        loop,
        call=[call, *carry],
        wait=OWN_WAITS.get(loop.style, ()),
        ready="jax.block_until_ready(result)",
    )


def _lines(
    loop: Loop, call: Sequence[str], wait: Sequence[str], ready: str
) -> list[str]:
    lines = ["x, *rest = args"] if loop.chained else []
    if loop.style == "print":
        lines.append("sink = io.StringIO()  # a terminal would be timed, too")
    return [
        *lines,
        "start = time.perf_counter()",
        f"for _ in range({loop.calls}):",
        *(f"    {line}" for line in (*call, *wait)),
        *([ready] if loop.style == "end" else []),
        "stopwatch = time.perf_counter() - start",
        ready,
        "return stopwatch, time.perf_counter() - start",
    ]
