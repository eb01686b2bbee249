"""What a search for crossings has found: text, a plot, a document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jaxtui import format as fmt
from jaxtui.commands import crossover_tables as tables
from jaxtui.commands.plots import COLORS, HEIGHT, WIDEST
from jaxtui.crossover import (
    Answer,
    Payback,
    Point,
    Search,
    cost,
    faster,
    paybacks,
    ratio,
)
from jaxtui.crossover.points import SIDES
from jaxtui.crossover.search import Outcome
from jaxtui.crossover.words import (
    Names,
    about,
    how_it_ended,
    names,
    payback_sentence,
    sentences,
    wins,
)
from jaxtui.document import SCHEMA, split_notes
from jaxtui.model import Case, Failure, Host, Measurement, Note, Record
from jaxtui.plot import Mark, Picture, Series
from jaxtui.text import painted
from jaxtui.tui.plots import sweep
from jaxtui.tui.report import failure_text
from jaxtui.tui.run_state import CaseState, RunState
from jaxtui.view.text import wrap


class Said(Record, frozen=True, kw_only=True):
    """An answer, and the same in words."""

    answer: Answer
    sentence: str


class Size(Record, frozen=True, kw_only=True):
    """A size at which both were measured."""

    size: int
    ratio: float | None
    """Seconds per call of the first side over those of the second."""
    low: float | None
    high: float | None
    """The interval of the ratio."""
    confidence: float | None
    """That the ratio lies in it."""
    faster: str | None
    """``first``, ``second``, or ``even`` where the interval contains 1."""


class Document(Record, frozen=True, kw_only=True):
    """What ``--json`` prints."""

    schema: int = SCHEMA
    host: Host | None
    """``None`` when the search was interrupted before the engine had looked."""
    first: Case | None
    second: Case | None
    """The two sides, at the smallest size."""
    outcome: Outcome | None
    answers: tuple[Said, ...] = ()
    sizes: tuple[Size, ...] = ()
    paybacks: tuple[Payback, ...] = ()
    notes: tuple[Note, ...] = ()
    """What is true of all measurements."""
    measurements: tuple[Measurement, ...] = ()
    """By size, the first side before the second."""
    failures: tuple[Failure, ...] = ()


def document(host: Host | None, search: Search | None) -> Document:
    """All of it as a record."""
    if search is None:
        return Document(host=host, first=None, second=None, outcome=None)
    said = zip(search.answers, sentences(search), strict=True)
    notes, measured = split_notes(measurements(search))
    return Document(
        host=host,
        first=search.first,
        second=search.second,
        outcome=search.outcome,
        answers=tuple(Said(answer=a, sentence=words) for a, words in said),
        sizes=tuple(map(_size, search.points)),
        paybacks=paybacks(search.points),
        notes=notes,
        measurements=measured,
        failures=search.failures,
    )


def _size(point: Point) -> Size:
    found = ratio(point, "call")
    return Size(
        size=point.size,
        ratio=found and found.median,
        low=found and found.low,
        high=found and found.high,
        confidence=found and found.confidence,
        faster=faster(point, "call"),
    )


def measurements(search: Search) -> tuple[Measurement, ...]:
    """By size, the first side before the second."""
    return tuple(one for point in search.points for one in (point.first, point.second))


def text(search: Search, size_means: str, plot: str = "") -> str:
    """The tables, what did not work, the plot, and last the answers.

    Args:
        search: finished or not.
        size_means: what the op's size counts.
        plot: the curves; empty for none.
    """
    parts = [_head(search, size_means)]
    if search.points:
        parts += filter(None, (tables.calls(search), tables.starts(search)))
    parts += [failure_text(failure) for failure in search.failures]
    if plot:
        parts.append(plot)
    parts.append("\n".join(_answers(search)))
    return painted(parts, "\n\n")


def size_line(search: Search, size: int) -> str:
    """A size that was tried, as one line of progress."""
    called = names(search.first, search.second)
    for point in search.points:
        if point.size == size:
            figures = ", ".join(
                f"{called.of(side)} {fmt.measured(point.of(side).ready)}"
                for side in SIDES
            )
            return f"{fmt.size(size)}: {figures}; {_judged(point, called)}"
    failed = [one for one in search.failures if one.case.size == size]
    why = failed[-1].error if failed else "not finished"
    return f"{fmt.size(size)}: {why}"


def run_state(search: Search) -> RunState:
    """What was measured, as the plots of a run take it."""
    return RunState(
        number=0,
        cases=tuple(
            CaseState(one.case, status="done", phases=one.phases, measurement=one)
            for one in measurements(search)
        ),
        elapsed_seconds=search.spent_seconds,
        outcome="cancelled" if search.outcome == "cancelled" else "complete",
    )


def picture(search: Search) -> Picture | None:
    """Both curves over size with their crossing, and the one with transfers, too.

    ``None`` unless two sizes were measured.
    """
    if len(search.points) < 2:
        return None
    drawn = sweep.picture(run_state(search), "time", COLORS, tuple(_marks(search)))
    if drawn is None:
        return None
    # The sizes of a bisection are no round numbers, and too many.
    return replace(
        drawn,
        x=replace(drawn.x, ticks=()),
        series=(*drawn.series, *_with_transfers(search)),
    )


def plot(
    search: Search,
    *,
    width: int,
    colour: bool,
    ascii_only: bool,
    height: int = HEIGHT,
) -> str:
    """The picture as text; empty if there is none.

    Args:
        search: finished or not.
        width: columns of the terminal.
        colour: whether to use colours; curves differ by their marker otherwise.
        ascii_only: use no character beyond ASCII.
        height: lines.
    """
    drawn = picture(search)
    if drawn is None:
        return ""
    return drawn.draw(min(width, WIDEST), height, color=colour, ascii=ascii_only)


def _head(search: Search, size_means: str) -> str:
    first, second = map(_side, (search.first, search.second))
    head = f"{search.first.op}, {first} against {second}; the size is the {size_means}"
    return "\n".join(wrap(head))


def _side(case: Case) -> str:
    """The label of a case without its op and size."""
    return " ".join(case.label.split()[2:])


def _answers(search: Search) -> Iterator[str]:
    called = names(search.first, search.second)
    said = [*sentences(search)]
    # Two sides that both live on the host have nothing to start.
    if not (search.first.on_host and search.second.on_host):
        said.append(payback_sentence(paybacks(search.points), called))
    said.append(how_it_ended(search))
    for sentence in filter(None, said):
        yield from wrap(sentence)


def _judged(point: Point, called: Names) -> str:
    who = faster(point, "call")
    if who is None or who == "even":
        return "no difference can be measured"
    return f"{called.of(who)} is faster"


def _marks(search: Search) -> Iterator[Mark]:
    called = names(search.first, search.second)
    for found in search.answers:
        crossing = found.crossing
        if crossing is None or "first" in found.clock:
            continue
        label = wins(crossing, called)
        if "transfers" in found.clock:
            label = f"~{about(crossing)} with transfers"
        yield Mark(crossing.at, label)


def _with_transfers(search: Search) -> Iterator[Series]:
    """A curve for each side whose transfers can move the crossing."""
    if "call_and_transfers" not in [found.clock for found in search.answers]:
        return
    called = names(search.first, search.second)
    for index, side in enumerate(SIDES, start=2):
        if getattr(search, side).on_host:
            continue
        costs = [
            (point.size, found.median)
            for point in search.points
            if (found := cost(point.of(side), "call_and_transfers"))
        ]
        x, y = [float(size) for size, _ in costs], [seconds for _, seconds in costs]
        yield Series(f"{called.of(side)} with transfers", x, y, COLORS[index])
