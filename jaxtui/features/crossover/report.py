"""The report of a crossover."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import Case, Summary
from jaxtui.core.model.document import Note
from jaxtui.core.model.measurement import is_vague
from jaxtui.core.model.own import short_name
from jaxtui.core.state import CaseState, Job, State
from jaxtui.features.bench import curves
from jaxtui.features.bench.figures import figure
from jaxtui.features.crossover.judge import calls_text, names, result, title_of
from jaxtui.features.crossover.messages import Crossover, Size
from jaxtui.ui.outcome import Outcome
from jaxtui.ui.plot import COLORS, Color, Mark, Picture
from jaxtui.ui.report import Column, Report, Rows, of_host

LONGEST_NAME = 10
"""The longest name of a side over a column: longer ones are called first and second
there."""


def report(crossover: Crossover, state: State) -> Report:
    """The answer, both curves, and what is compared."""
    first, second = crossover.first, crossover.second
    if first is None or second is None:
        return Report("crossover")
    means = {info.name: info.size_means for info in state.ops}
    size = means.get(first.op, "size for its factory")
    sides = " and ".join(
        replace(case, op="", size=0).label.strip() for case in (first, second)
    )
    op = short_name(first.op)
    compared = Note(flag="compared", text=f"{op}, {sides}; the size is the {size}.")
    return Report(
        title=f"{op}: {title_of(crossover)}",
        verdict=crossover.verdict,
        tables=[_table(crossover, first, second)] if crossover.sizes else [],
        notes=[*crossover.notes, compared],
        host=of_host(crossover.host),
        picture=picture(crossover, COLORS),
    )


def count(crossover: Crossover) -> tuple[int, int]:
    """Return 1 if both sides were timed at a size; no crossing is an answer, too."""
    return min(1, len(crossover.sizes)), 1


OUTCOME = Outcome(Crossover, result, report, count)


def _table(crossover: Crossover, first: Case, second: Case) -> Rows:
    """A row for each size: a call on both sides, and when a first call pays off."""
    sizes, called = crossover.sizes, names(first, second)
    heads = called if max(map(len, called)) <= LONGEST_NAME else ("first", "second")
    clocks = [measurement.ready for measurement in crossover.measurements]
    unit = fmt.shared([clock.median for clock in clocks if clock])
    most = max((size.confidence or 0.0 for size in sizes), default=0.0)
    left, right = (
        Column(f"{head} {unit.name}".rstrip(), _times(times, unit), right=True)
        for head, times in zip(heads, (clocks[::2], clocks[1::2]), strict=True)
    )
    columns = [
        Column("size", [fmt.size(size.size) for size in sizes], right=True),
        left,
        right,
        Column(
            f"{heads[0]}/{heads[1]}",
            [fmt.ratio(size.ratio) for size in sizes],
            right=True,
            rank=1,
        ),
        Column(
            fmt.interval_name(most).removesuffix(" interval"),
            [_ends(size, most) for size in sizes],
            right=True,
            rank=1,
        ),
        Column("faster", [_faster(size, heads, (first, second)) for size in sizes]),
    ]
    if any(size.payback for size in sizes):
        cold = [size.payback and size.payback.seconds for size in sizes]
        starts = fmt.shared([seconds for seconds in cold if seconds])
        columns += [
            Column(
                f"first call {starts.name}".rstrip(),
                [starts.text(seconds) if seconds else "" for seconds in cold],
                right=True,
                rank=4,
            ),
            Column(
                "pays off after",
                [
                    calls_text(size.payback.calls)
                    if size.payback and size.faster
                    else Text(fmt.ABSENT, "muted")
                    for size in sizes
                ],
                right=True,
                rank=2,
            ),
        ]
    return Rows(columns)


def _times(
    clocks: Sequence[Summary | None], unit: fmt.Unit | fmt.OwnUnits
) -> list[Text]:
    lines = (figure(clock.interval, unit) if clock else () for clock in clocks)
    return [Text.assemble(*((span.text, span.role) for span in x)) for x in lines]


def _ends(size: Size, most: float) -> Text:
    """The ends of a ratio; ``most`` is how sure most of them are."""
    if size.low is None or size.high is None or size.confidence is None:
        return Text()
    ends = "–".join(fmt.significant(end, 2) for end in (size.low, size.high))
    name = fmt.interval_name(size.confidence)
    if name != fmt.interval_name(most):
        ends += f" ({name.removesuffix(' interval')})"
    vague = is_vague(size.low, size.high, size.confidence)
    return Text(ends, "unknown" if vague else "muted")


def _faster(size: Size, heads: tuple[str, str], sides: tuple[Case, Case]) -> Text:
    if size.faster is None:
        return Text("no difference", "muted")
    place = ("first", "second").index(size.faster)
    return Text(heads[place], sides[place].mode)


def picture(crossover: Crossover, colors: Sequence[Color]) -> Picture | None:
    """Draw both curves over size with their crossing.

    ``None`` unless two sizes were measured.
    """
    if len(crossover.sizes) < 2:
        return None
    done = partial(CaseState, status="done")
    cases = tuple(done(x.case, measurement=x) for x in crossover.measurements)
    crossing = crossover.crossing
    marks = (Mark(crossing.start, title_of(crossover)),) if crossing else ()
    run = Job(number=0, cases=cases, outcome="complete")
    drawn = curves.picture(run, "time", colors, marks)
    # The sizes around a crossing are no round numbers.
    return drawn and replace(drawn, x=replace(drawn.x, ticks=()))
