"""Findings from what was seen of a program: ``judged.txt`` holds them all.

With ``JAXTUI_GOLDEN=write`` in the environment it is written instead of compared with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxtui.features.audit import report as view
from jaxtui.features.audit.judge import judge
from jaxtui.features.audit.messages import (
    Audit,
    Compile,
    Execution,
    Finding,
    Place,
    Span,
    Transfer,
    Wait,
    Witness,
)
from jaxtui.ui.report import terminal
from tests.golden.test_documents import check_frozen

START, STOP, OTHER = (Place("/a.py", line) for line in (1, 3, 7))
MS = 1e-3
FIELDS = {
    Span: "spans",
    Execution: "executions",
    Compile: "compiles",
    Transfer: "transfers",
    Wait: "waits",
}


def lasting(kind: type[Any], start: float, end: float, **facts: Any) -> Any:
    return kind(start_seconds=start, end_seconds=end, **facts)


def span(
    start: float, stop: float, clock: str = "time.perf_counter", **more: Any
) -> Span:
    facts: dict[str, Any] = {"begin": START, "end": STOP, "thread": 0} | more
    return Span(start_seconds=start, stop_seconds=stop, clock=clock, **facts)


def run(
    called: float,
    end: float,
    program: str = "jit_f(1)",
    thread: int | None = None,
    function: str = "f",
) -> Execution:
    facts = {"function": function, "program": program, "thread": thread}
    found: Execution = lasting(Execution, called, end, called_seconds=called, **facts)
    return found


def compiled(start: float, end: float, function: str = "f", reason: str = "") -> Any:
    facts = {"function": function, "place": START, "reason": reason}
    return lasting(Compile, start, end, **facts)


def waited(start: float, end: float, on: str = "", *, pending: bool = False) -> Any:
    return lasting(Wait, start, end, place=OTHER, on=on, was_pending=pending)


def crossing(start: float, end: float, size: int, place: Place | None) -> Any:
    direction = "to host" if place else "to device"
    facts = {"direction": direction, "bytes": size, "place": place}
    return lasting(Transfer, start, end, **facts)


def judged(*seen: Any, traced: Any = (0.0, 10.0), ok: Place | None = None) -> Audit:
    """An audit of what was seen; one line may say that it is right."""
    fields: dict[str, Any] = {
        name: tuple(one for one in seen if isinstance(one, kind))
        for kind, name in FIELDS.items()
    }
    witness = Witness(
        python="3", jax="0", seconds=10.0, traced_seconds=traced, **fields
    )
    line = "    t = clock()  # jaxtui: ok"
    return judge(witness, "a.py", 0, lambda place: line if place == ok else "")


AGAIN = run(5.0, 5.001)
"""So that nothing is done once."""
LATE = (run(1.0001, 1.5), run(1.0002, 1.5))
TWICE = (run(1.001, 1.002), run(1.0011, 1.002))
FIRST, SECOND = compiled(1.01, 1.2), compiled(1.21, 1.4)
ITS_RUNS = (run(1.2, 1.21), run(1.4, 1.5))
BUSY = (run(0.9, 1.02, "jit_g(2)"), run(1.001, 1.029), run(1.002, 1.03))
FOUR = [span(1 + n * MS, 1 + n * MS + 1e-4) for n in range(4)]
MANY = [span(1 + 0.01 * n, 1.01 + 0.01 * n) for n in range(200)]
FULL = [run(s.start_seconds + 1e-3, s.stop_seconds + 0.015) for s in MANY]
BAR = span(1.0, 2.0, "tqdm", end=START)
CPU = [span(float(n), n + 0.5, "time.process_time", cpu_seconds=0.9) for n in (1, 2)]
AGAIN_LATER = span(3.0, 3.1, begin=OTHER, end=OTHER)
REASON = (
    "TRACING CACHE MISS at a.py:7 (<module>):\n"
    "  for f defined at a.py:2\n  different input types:\n"
    "  * at lr, now f32[]{weak_type=False} and before f32[]{weak_type=True}https://x"
)


def late(seconds: float, *waits: Any) -> tuple[Any, ...]:
    """Work that ends so much after the clock has stopped."""
    return span(1, 1.001), run(1.0001, 1.0003), run(1.0002, 1.001 + seconds), *waits


def read_again(begin: float, *more: Any) -> tuple[Any, ...]:
    """The clock is read again when the work is done."""
    again = span(begin, 1.051, end=OTHER)
    return span(1.0, 1.001), again, run(1.0001, 1.05), AGAIN, *more


def queued(spans: int, first: float) -> list[Any]:
    """Spans that nobody waits in, whose work takes 100 ms each."""
    runs = [run(s.start_seconds + 5e-5, first + n / 10) for n, s in enumerate(FOUR)]
    return [*FOUR[:spans], *runs[:spans]]


def compiling(spans: int, *first: int) -> list[Any]:
    """Spans of which some compile."""
    return [
        *(span(n + 1.0, n + 1.5) for n in range(spans)),
        *(run(n + 1.01, n + 1.5) for n in range(spans)),
        *(compiled(n + 1.01, n + 1.4, f"f{n}") for n in first),
    ]


def new(at: float, line: int) -> Any:
    reason = f"never seen function:\n f id={at} defined at a.py:{line}"
    return compiled(at, at + 0.1, reason=reason)


def waiting(last: Execution, *others: Execution, pending: bool = True) -> list[Any]:
    """A program that waited until 1.051 s."""
    wait = waited(1.001, 1.051, pending=pending)
    return [span(1.0, 1.051), run(1.0001, 1.0002, "jit_h(3)"), last, *others, wait]


def apart() -> Iterator[Any]:
    """Two functions that one line times; and what runs no JAX."""
    for n in range(8):
        yield span(n + 1.0, n + 1.001)
        yield span(n + 1.5, n + 1.6)
        other: dict[str, Any] = {"program": "jit_g(2)", "function": "g"}
        yield run(n + 1.0, n + 1.001 + (n > 5) / 10, **(other if n > 5 else {}))


def started_busy() -> Iterator[Any]:
    """The last of five, whose functions have one name, lost its core."""
    for n in range(1, 6):
        yield from (span(n, n + 0.03), waited(n + 0.002, n + 0.03))
        yield run(n - 0.1, n + 0.02, "jit_f(2)")
        yield run(n + 0.001, n + (0.029 if n < 5 else 0.055))


def crossed(size: int, place: Place | None, spans: int = 1) -> list[Any]:
    """Arrays cross in the first of some spans."""
    more = [(span(n, n + 0.01), run(n, n + 0.01)) for n in range(2, spans + 1)]
    array = crossing(1.003, 1.008, size, place)
    return [span(1.0, 1.01), *TWICE, array, *(one for pair in more for one in pair)]


SEEN: Mapping[str, Audit] = {
    "40 µs late, within the tolerance": judged(*late(40e-6)),
    "60 µs late": judged(*late(60e-6)),
    "96 ms late": judged(*late(96 * MS)),
    # The thread that writes ends lost its core.
    "15 ms late, but waited for": judged(*late(15 * MS, waited(1.0005, 1.001))),
    "96 ms late, and waited": judged(*late(96 * MS, waited(1.0005, 1.001))),
    # The trace lacks the call, and begins with the run.
    "15 ms late, waited from its call": judged(*late(15 * MS, waited(1.0001, 1.001))),
    "15 ms late, an earlier wait": judged(*late(15 * MS, waited(0.9995, 1.0001))),
    "a hundredth late": judged(span(1.0, 2.0), run(1.1, 1.2), run(1.5, 2.009)),
    "one of three late": judged(
        *(span(n, n + 0.001) for n in (1, 2, 3)),
        *(run(n + 1e-4, n + 0.001) for n in (1, 2)),
        run(3.0001, 3.5),
    ),
    # What a span gets from the one before it, it may leave to the next.
    "a queue that is full": judged(*MANY, *FULL),
    "a queue that fills": judged(*MANY[:50], *FULL[:50]),
    "read again from its begin": judged(*read_again(1.0)),
    "read again from its end": judged(*read_again(1.001)),
    "read again, begun before": judged(*read_again(0.9)),
    "read again after a call": judged(*read_again(1.0, run(1.002, 1.0505, "jit_g(2)"))),
    "started busy": judged(span(1.0, 1.03), *BUSY),
    "started busy, compiling": judged(span(1.0, 1.03), *BUSY, compiled(1.0, 1.021)),
    "started busy, five times": judged(*started_busy()),
    # It is not awaited, and earlier work ran while the host compiled.
    "work that cannot be told": judged(
        span(1.0, 1.03),
        *(run(0.9, 1.025, "jit_g(2)"), run(1.022, 1.04)),
        compiled(1.0, 1.021),
    ),
    "a delay of one": judged(*queued(1, 1.1)),
    "a delay with the work of calls before": judged(*queued(4, 1.1)),
    "one not awaited, before a busy start": judged(*queued(4, 1.0)),
    # Who writes the end of what was awaited had lost its core.
    "awaited late, before a busy start": judged(
        *queued(4, 1.0), run(0.9, 1.01, "jit_g(2)"), waited(0.985, 0.99)
    ),
    "two threads that measure": judged(
        *(span(1.0, 1.01, thread=1), span(1.0, 1.1, thread=2)),
        *[run(1.001, 1.009, thread=1)] * 2,
        *[run(1.002, 1.09, thread=2)] * 2,
    ),
    "work of no thread": judged(span(1.0, 1.01, thread=1), *[run(1.002, 1.09)] * 2),
    "compiles in 1 of 21": judged(*compiling(21, 0), traced=(0.0, 99.0)),
    "compiles in 1 of 2": judged(*compiling(2, 0)),
    "compiles in 3 of 12": judged(*compiling(12, 0, 4, 8), traced=(0.0, 99.0)),
    "compiles in 1 of 1": judged(*compiling(1, 0)),
    "compiles in 3 of 3": judged(*compiling(3, 0, 1, 2)),
    "compiles in 2 of 3": judged(*compiling(3, 0, 1)),  # whose program is the third's
    # Both stand there, and the wait does not hide the other.
    "compiles for a reason": judged(
        span(1.0, 1.5), run(1.4, 1.6), compiled(1.01, 1.4, reason=REASON)
    ),
    "compiles and runs nothing": judged(span(1.0, 1.5), compiled(1.01, 1.4)),
    "compiles, unseen": judged(span(1.0, 1.5), compiled(1.01, 1.4), traced=None),
    # Compiling is timed on purpose where the program is timed again.
    **{
        f"compiles f, and times {program}": judged(
            *(span(1.0, 1.5), run(1.4, 1.5, "f"), compiled(1.01, 1.4)),
            *(AGAIN_LATER, run(3.01, 3.09, program), AGAIN),
        )
        for program in "fg"
    },
    "compiles twice": judged(span(1.0, 1.5), *ITS_RUNS, FIRST, SECOND),
    "compiles two": judged(span(1.0, 1.5), *ITS_RUNS, FIRST, compiled(1.21, 1.4, "g")),
    # JAX explains what is the program's own, and that is compiled once.
    "compiles twice, explains another": judged(
        *(span(1.0, 2.0), *ITS_RUNS, FIRST, SECOND),
        compiled(1.4, 1.9, "g", "never seen …"),
    ),
    "compiles twice, and another longer": judged(
        span(1.0, 9.95), *ITS_RUNS, FIRST, SECOND, compiled(1.4, 9.9, "g")
    ),
    # Functions of one name are told apart by where they are defined.
    "compiles two of a name": judged(span(1.0, 1.5), *ITS_RUNS, new(1, 2), new(1.1, 3)),
    "compiles one anew": judged(span(1.0, 1.5), *ITS_RUNS, new(1, 2), new(1.1, 2)),
    "two functions by one line": judged(*apart()),
    **{
        f"line {place.line} is right": judged(
            span(1.0, 1.001), *LATE, waited(1.003, 1.0031, "ndarray"), ok=place
        )
        for place in (START, STOP)
    },
    "CPU seconds": judged(*CPU, run(1.0, 1.5), run(2.0, 2.5)),
    "read while tracing": judged(span(1.0, 1.001, while_tracing=True)),
    "a progress bar": judged(BAR, run(1.1, 1.2), run(1.21, 2.09), compiled(1.01, 1.1)),
    "a progress bar, late": judged(BAR, run(1.1, 1.2), run(1.21, 2.2)),
    "idle for 60 ms of 100": judged(span(1.0, 1.1), run(1.0, 1.02), run(1.02, 1.04)),
    "idle for 40 ms of 100": judged(span(1.0, 1.1), run(1.0, 1.02), run(1.02, 1.06)),
    "idle, one run": judged(span(1.0, 1.1), run(1.0, 1.02)),
    "timed once": judged(span(1.0, 1.01), run(1.001, 1.009)),
    # What a program waited for is over, however late that was written.
    "waited for nothing else": judged(*waiting(run(1.0004, 1.5))),
    "waited for what was done": judged(*waiting(run(1.0004, 1.5), pending=False)),
    "waited for one, then another began": judged(
        *waiting(run(1.045, 1.5), run(1.0003, 1.045, "jit_g(2)"))
    ),
    "waited for another, of 20 ms elsewhere": judged(
        *waiting(run(1.04, 1.5), run(1.0003, 1.04, "jit_g(2)")),
        *(run(2.0, 2.02), run(3.0, 3.02)),
    ),
    **{
        f"{size} bytes cross in {spans}, {'fetched' if place else 'sent'}": judged(
            *crossed(size, place, spans)
        )
        for place in (OTHER, None)
        for size, spans in ((65_536, 1), (65_535, 1), (65_536, 3))
    },
    "a constant is fetched": judged(
        *(span(1.0, 1.5), run(1.4, 1.44), compiled(1.01, 1.4)),
        crossing(1.2, 1.201, 2**20, OTHER),
    ),
    "a result is fetched": judged(
        *(span(1.0, 1.5), run(1.4, 1.44), compiled(1.01, 1.4)),
        crossing(1.45, 1.451, 2**20, OTHER),
    ),
    "waits for NumPy": judged(
        *(span(1.0, 1.01), *TWICE),
        *(waited(1.003, 1.0031, "ndarray"), waited(1.004, 1.0041, "ndarray")),
    ),
    # A function that times JAX as well.
    "waits for NumPy and JAX": judged(
        *(span(1.0, 1.01), *TWICE),
        *(waited(1.003, 1.0031, "ndarray"), waited(1.005, 1.006)),
    ),
    "the trace ended before": judged(span(1.0, 1.001), *LATE, traced=(0.0, 0.9)),
    "nothing timed": judged(),
    "no JAX": judge(Witness(python="3", jax=None, seconds=1), "a.py", 0, lambda _: ""),
    "killed": judge(None, "a.py", 137, lambda _: ""),
}


def fact(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def facts_of(finding: Finding) -> str:
    facts = ", ".join(f"{k} {fact(v)}" for k, v in finding.remark.facts.items())
    line, code = finding.place.line, finding.remark.code
    return f"{code} in {line} of {finding.seconds:.4g} s: {facts}"


def described(name: str) -> str:
    """What the report of an audit says, and the facts behind it."""
    audit = SEEN[name]
    report = terminal(view.report(audit), 90, full=True)
    return "\n".join(
        [f"== {name}", report, *map(facts_of, audit.findings + audit.notes)]
    )


def test_what_was_seen_is_judged_as_before() -> None:
    lines = (line for name in SEEN for line in described(name).splitlines())
    text = "".join(f"{line.rstrip()}\n" for line in lines)
    check_frozen(Path(__file__).with_name("judged.txt"), text)
