"""The plain-JAX script of a loop."""

from __future__ import annotations

from jaxtui.model import Loop, LoopStyle

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

PRINTING = """

repeats = [loop()]  # the first time takes longer
end = time.perf_counter() + {seconds}
while len(repeats) <= {repeats} or time.perf_counter() < end:
    repeats.append(loop())
stopwatch, true = zip(*repeats[1:])
print(f"stopwatch {{statistics.median(stopwatch):.3e}} s")
print(f"true {{statistics.median(true):.3e}} s")
"""


def loop_script(loop: Loop, setup: str) -> str:
    """A script that runs exactly this loop and prints the medians of both clocks.

    Args:
        loop: The loop.
        setup: ``PlannedCase.setup`` of its case, which defines ``f`` and ``args``.
    """
    linked = "chained" if loop.chained else "independent"
    calls = "1 call" if loop.calls == 1 else f"{loop.calls} {linked} calls"
    title = f'"""{loop.case.label}: {calls}, {TITLES[loop.style]}."""'
    imports = "import io\n" if loop.style == "print" else ""
    body = "\n".join(f"    {line}" for line in _body(loop))
    function = f"def loop():\n{body}\n"
    printing = PRINTING.format(repeats=REPEATS, seconds=SECONDS)
    return f"{title}\n\n{imports}{setup}\n\n{function}{printing}"


def _body(loop: Loop) -> list[str]:
    """The lines of the function that is the loop."""
    x = "x" if loop.chained else "result"
    call = "x = f(x, *rest)" if loop.chained else "result = f(*args)"
    lines = ["x, *rest = args"] if loop.chained else []
    if loop.style == "print":
        lines.append("sink = io.StringIO()  # a terminal would be timed, too")
    lines += [
        "start = time.perf_counter()",
        f"for _ in range({loop.calls}):",
        f"    {call}",
    ]
    if wait := WAITS.get(loop.style):
        lines.append(f"    {wait.format(x=x)}")
    if loop.style == "end":
        lines.append(f"{x}.block_until_ready()")
    lines += [
        "stopwatch = time.perf_counter() - start",
        f"{x}.block_until_ready()",
        "return stopwatch, time.perf_counter() - start",
    ]
    return lines
