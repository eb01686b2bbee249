"""Memory: why one NumPy line takes 0.4 ms in one program and 1.7 ms in another."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import cases, values, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.machine import malloc
from jaxtui.model import Experiment, Measurement, Shown, Snippet, Timed, Work

SOURCE = (
    "Measured for this lesson on a virtual machine with two cores (250,000 float32, "
    "NumPy 2.4, glibc 2.36); nobody has published such figures."
)

SLOWER = 1.5
"""How many times as long fresh memory must take before the claim holds."""

FEW = 0.1
"""Page faults for each page of an array that count as none."""

PAGE_BYTES = 4096

_NEW, _KEPT = "new results", "results written into one array"
_NEW_FAULTS, _KEPT_FAULTS = "page faults, new", "page faults, into one array"

_TWO_WAYS = """\
import resource


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sigmoid_into(out, x):
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    return np.divide(1, out, out=out)


def faults(call, calls=20):
    # Page faults of one call, after some that nobody counts.
    for _ in range(calls):
        call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(calls):
        call()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / calls


x = np.random.default_rng(0).standard_normal({n}, np.float32)
y = np.ones_like(x)
"""


def _both_ends(setting: Setting) -> tuple[Work, ...]:
    case = cases.numpy("sigmoid", setting.size)
    return (Experiment(cases=(case,), budget_seconds=8.0),)


def _slower(setting: Setting, outcome: Outcome) -> Conclusion:
    found = outcome.find(mode="numpy")
    here, span = words.ready(found), found.memory if found else None
    reused, fresh, faults = (
        (span.reused, span.fresh, span.page_faults) if span else (None, None, None)
    )
    rows = (
        Row(
            what="as it came in this process",
            yours=words.duration(here),
            remark=words.trouble(outcome, mode="numpy"),
        ),
        Row(
            what="with reused memory", yours=words.duration(reused), published="0.42 ms"
        ),
        Row(what="with fresh memory", yours=words.duration(fresh), published="1.7 ms"),
        Row(
            what="page faults of a call, fresh",
            yours=values.whole(faults and round(faults)),
            published="980",
        ),
    )
    if found is None or here is None:
        return words.inconclusive(setting, outcome, rows, "sigmoid in NumPy")
    if reused is None or fresh is None or faults is None:
        said = f"Both ends are not shown here. {_why_no_span(setting, found)}"
        return Conclusion(rows=rows, holds=None, takeaway=said)
    holds = fresh >= SLOWER * reused
    takeaway = [
        f"With the memory of the call before the line took {words.duration(reused)}, "
        f"with new memory {words.duration(fresh)}: {words.times(fresh, reused)} as "
        "long, for the same arithmetic."
    ]
    if holds:
        takeaway.append(
            f"A call touched about {faults:,.0f} new pages, and each cost "
            f"{words.duration(words.quotient(fresh - reused, faults))}."
        )
    else:
        takeaway.append(
            f"That is less than the {SLOWER:g} times of the claim: this kernel hands "
            "out pages quickly, or larger ones."
        )
    end = "fresh" if here**2 > reused * fresh else "reused"
    takeaway.append(
        f"This process, in which nothing is set, got {words.duration(here)}, nearer to "
        f"{end} memory. A program started with {malloc.setting('reused')} in its "
        f"environment reuses; one with {malloc.setting('fresh')} never does."
    )
    answer = 0 if fresh < SLOWER * reused else 1 if fresh < 3 * reused else 2
    return Conclusion(
        rows=rows, holds=holds, takeaway=" ".join(takeaway), answer=answer
    )


def _why_no_span(setting: Setting, found: Measurement) -> str:
    for note in found.notes:
        if note.flag in ("memory", "no-span"):
            return note.text
    names = [*setting.host.settings] if setting.host else []
    if ours := [name for name in names if name.startswith(("MALLOC_", "GLIBC_"))]:
        return f"The environment sets malloc ({words.listing(ours)})."
    return (
        "Either they differ by less than a tenth on this machine, or its malloc is not "
        "that of glibc, of which alone it is known how to get them."
    )


def _written_into_one(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    snippet = Snippet(
        title=f"Sigmoid of {fmt.count(n)} elements, new results and one that is kept",
        setup=_TWO_WAYS.format(n=n),
        parts=(
            Shown(name=_NEW_FAULTS, code="faults(lambda: sigmoid(x))"),
            Shown(name=_KEPT_FAULTS, code="faults(lambda: sigmoid_into(y, x))"),
            Timed(name=_NEW, code="sigmoid(x)"),
            Timed(name=_KEPT, code="sigmoid_into(y, x)"),
        ),
        budget_seconds=4.0,
        memory_bytes=8 * 4 * n,
        cpu_devices=1,
    )
    return (snippet,)


def _no_faults(setting: Setting, outcome: Outcome) -> Conclusion:
    new, kept = outcome.seconds(_NEW), outcome.seconds(_KEPT)
    new_faults, kept_faults = outcome.number(_NEW_FAULTS), outcome.number(_KEPT_FAULTS)
    rows = (
        Row(
            what="1 / (1 + np.exp(-x))",
            yours=words.duration(new),
            remark=_counted(new_faults),
        ),
        Row(
            what="the same with out=y",
            yours=words.duration(kept),
            remark=_counted(kept_faults),
        ),
    )
    if new is None or kept is None or new_faults is None or kept_faults is None:
        return words.inconclusive(setting, outcome, rows, "both ways", many=True)
    some = FEW * 4 * setting.size / PAGE_BYTES
    holds = kept_faults < some
    takeaway = [
        f"Four new arrays a call: {_counted(new_faults)} and {words.duration(new)}. "
        f"All four steps in one array: {_counted(kept_faults)} and "
        f"{words.duration(kept)}."
    ]
    if not holds:
        takeaway.append("Something else in this process touched new pages meanwhile.")
    elif new_faults < some:
        takeaway.append(
            "New arrays met no faults either: malloc reused their memory in this "
            "process, and may not in the next."
        )
    else:
        takeaway.append(
            f"The one array stays where it is, so it costs {words.times(kept, new)} "
            "what new ones cost, in every program and with any malloc. In JAX, "
            "`donate_argnums` does the same for an argument."
        )
    answer = 0 if kept_faults < some else 1 if kept_faults < new_faults / 2 else 2
    return Conclusion(
        rows=rows, holds=holds, takeaway=" ".join(takeaway), answer=answer
    )


def _counted(faults: float | None) -> str:
    return "" if faults is None else f"{faults:,.0f} page faults a call"


LESSON = Lesson(
    name="memory",
    title="Memory: one line, two times",
    summary="Why the same NumPy line takes 0.4 ms in one program and 1.7 in another.",
    size_means="number of elements",
    sizes={"cpu": 250_000},
    minimum=50_000,
    maximum=20_000_000,
    steps=(
        Step(
            title="Fresh and reused",
            prose="""\
    1 / (1 + np.exp(-x))

Each of the four steps makes an array of a megabyte. Where does it come from?
From malloc, which may have kept the memory of an array that was just freed.
Or it asks the kernel, which promises pages of 4 KiB and finds one when it is
first touched: a page fault, and the page is filled with zeros before.

Which of the two happens does not depend on the line: glibc decides it by what
the program freed before, and moves its thresholds as it runs.

Here the line runs as it comes, and then in a second process that is set to
either end on purpose, in turns.""",
            question=Question(
                text="How much longer does the line take with fresh memory?",
                choices=(
                    "Less than 1.5 times: memory is free",
                    "1.5 to 3 times",
                    "More than 3 times",
                ),
            ),
            claim="With fresh memory the same line takes at least 1.5 times as long.",
            works=_both_ends,
            conclude=_slower,
            source=SOURCE,
        ),
        Step(
            title="One array that is kept",
            prose="""\
A program whose time must not depend on malloc does not ask it in every call.
NumPy's functions write their result where `out` says:

    np.exp(y, out=y)

The line becomes four calls that work in one array, made and touched once.
The operating system counts the page faults of every process:

    resource.getrusage(resource.RUSAGE_SELF).ru_minflt

Both ways are counted and timed in a new process, where malloc is left as it
is.""",
            question=Question(
                text="How many page faults are left with one array?",
                choices=("None", "Fewer than half", "As many as before"),
            ),
            claim="Written into one array, the line has no page faults.",
            works=_written_into_one,
            conclude=_no_faults,
        ),
    ),
)
