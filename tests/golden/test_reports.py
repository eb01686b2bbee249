"""Reports of runs that a feature's tests have made up, each in every situation."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from jaxtui.core.state import State
from jaxtui.features.bench import comparison as compare
from jaxtui.features.bench import curves, figures, stopwatch, views
from jaxtui.features.bench import report as bench
from jaxtui.features.bench.curves import METRICS
from jaxtui.features.bench.phases import LABELS, bars
from jaxtui.features.crossover.report import report as crossover_report
from jaxtui.features.roofline.judge import place
from jaxtui.features.roofline.report import report as roofline_report
from jaxtui.features.roofline.report import result
from jaxtui.features.roofline.screen import statements
from jaxtui.ui.report import Column, fitting, terminal
from jaxtui.ui.text import Line
from tests.core.figures import measured
from tests.features.bench.test_curves import CALLS, RATED, SWEEPS, VIEWED, VIEWS
from tests.features.bench.test_report import COMPARED, RUNS
from tests.features.bench.test_stopwatch import CASES, CLOCKS
from tests.features.crossover.test_judge import SEARCHES
from tests.features.roofline.test_judge import LINK, PICTURES, PLACES, UNDER
from tests.golden.test_documents import DOCUMENTS, check_frozen
from tests.ui.making import COLORS, run_of

QUIET = ("label", "title", "value", "text")


def marked(line: Line) -> str:
    """A line with the roles of its spans."""
    spans = (x.text if x.role in QUIET else f"{x.text}‹{x.role}›" for x in line)
    return "".join(spans).rstrip()


def freeze(name: str, lines: list[str]) -> None:
    check_frozen(DOCUMENTS / f"{name}.txt", "\n".join(lines) + "\n")


def shown(columns: list[Column]) -> list[str]:
    rows = zip(*(column.cells for column in columns), strict=True)
    texts = [
        [marked(x) if isinstance(x, tuple) else str(x or "") for x in row]
        for row in rows
    ]
    heads = [column.head for column in columns]
    return [" | ".join(row).rstrip() for row in (heads, *texts)]


def test_tables_of_bench() -> None:
    lines = []
    for name, run in RUNS.items():
        told = terminal(bench.report(run, full=False), 100)
        columns = bench.result_columns(run, room=8, swept=run)
        on_screen = shown([column for column, _ in fitting(columns, 76)])
        lines += [f"# {name}", told, "on a screen:", *on_screen, ""]
    freeze("bench_tables", lines)


def test_stopwatches() -> None:
    lines = []
    for name, cases in CASES.items():
        numpy = figures.numpy_of(cases[0], run_of(*cases))
        clocks = stopwatch.of_case(cases[0])
        pair = stopwatch.comparison(cases[0], numpy)
        lines += [f"# {name}: {stopwatch.off_by(cases[0])}"]
        lines += [f"wrong: {clocks.wrong}, {pair[0].wrong}" if clocks else "no clocks"]
        lines += map(marked, stopwatch.lines(pair, 116))
        lines += [marked(stopwatch.cold(cases[0], numpy))]
    freeze("stopwatches", lines)


def test_the_clocks_of_a_case() -> None:
    lines = []
    for name, clocks in CLOCKS.items():
        lines += [f"# {name}", *map(marked, bars(*clocks, 48))]
    first = bars(*CLOCKS["few"], 48, zero_copy=True)[LABELS.index("transfer")]
    freeze("phases", [*lines, marked(first)])


def test_views_and_words_where_there_is_no_picture() -> None:
    lines = []
    for name, run in VIEWED.items():
        lines.append(f"# {name}")
        for view, metric in VIEWS.items():
            state, index = State(jobs={"bench": run}), len(run.cases) > 1
            kind: Any = "sweep" if metric else view
            title, picture, why = views.plot(state, index, kind, COLORS, **metric)
            drawn = "a picture" if picture else why.replace("\n\n", "\n    ")
            lines.append(f"{view}: {title}\n    {drawn}")
    freeze("views", lines)


def test_curves_their_intervals_and_where_they_cross() -> None:
    lines = []
    for name, run in SWEEPS.items():
        for metric in METRICS if name in RATED else ("time", "numpy"):
            drawn = curves.picture(run, metric, COLORS)
            if drawn is None:
                continue
            lines.append(f"# {name}, {metric}: {drawn.title}")
            for one in drawn.series:
                spans = " ".join(
                    f"{low:.3g}–{high:.3g}" for low, high in one.spans or ()
                )
                values = " ".join(f"{y:.3g}" for y in one.y)
                lines.append(f"  {one.label} {one.color}: {values}  {spans}".rstrip())
            lines += [f"  at {mark.at:.4g}: {mark.label}" for mark in drawn.marks]
            top = drawn.draw(100, 9, color=False, cursor=1).splitlines()[0]
            lines.append(f"  {top}".rstrip())
    freeze("curves", lines)


def test_calls_of_a_case() -> None:
    lines = []
    for name, (plot, case) in CALLS.items():
        drawn = plot(case, COLORS)
        marks = [f"{mark.at:.4g} {mark.label}" for mark in drawn.marks]
        counts = f"{len(drawn.places)} places, {sum(drawn.series[0].y):.6g}"
        lines.append(f"# {name}: {drawn.title}, {counts}, {marks}")
        text = drawn.draw(80, 9, color=False, cursor=16).splitlines()
        lines += [line.rstrip() for line in text]
    freeze("calls", lines)


def test_comparisons() -> None:
    lines = []
    for name, compared in COMPARED.items():
        lines += [f"# {name}: {compare.headline(compared[0])}"]
        lines += [terminal(compare.report(compared), 100), ""]
        for row in compare.Pairs.of(compared).pairs:
            told = row.comparison
            lines += [told.sentence, f"{told.differences} {told.differing}", ""]
    freeze("comparisons", lines)


def test_crossovers() -> None:
    lines = []
    for name, seen in SEARCHES.items():
        told = crossover_report(seen, State())
        marks = (
            [mark.label for mark in told.picture.marks] if told.picture else ["none"]
        )
        lines += [f"# {name}", told.title, f"picture: {', '.join(marks)}".rstrip()]
        lines += ["", terminal(replace(told, picture=None), 80), ""]
    freeze("crossovers", lines)


def test_places_under_roofs() -> None:
    lines = []
    for name, (facts, under) in PLACES.items():
        own = {"multiplies": "bfloat16"} if facts.get("dtype") == "" else {}
        at = place(replace(measured(**facts), **own), under)
        share = [f"{100 * at.rate / at.limit:.1f} %"] if at.limit and at.rate else []
        told = ["shown"] * (at.share is not None) + ["uncertain"] * at.uncertain
        words = [at.code, at.bound or "no bound", *share, *told]
        lines += [f"{name}: {', '.join(words)}", f"    {at.verdict}"]
    link = place(LINK, PLACES["below the ridge"][1])
    freeze("roofline_places", [*lines, f"a link: {link.code}, {link.bound}"])


def test_rooflines() -> None:
    lines = []
    for name, state in UNDER.items():
        told = replace(roofline_report(result(state, True), state), picture=None)
        lines += [f"# {name}", told.title, terminal(told, 88), "selected:"]
        assert state.run
        for index in range(len(state.run.cases)):
            notes = statements(state, index)
            lines += [f"  {x.remark.code}: {x.remark.text} {x.about}" for x in notes]
        lines.append("")
    for name, picture in PICTURES.items():
        lines.append(f"# {name}")
        if picture:
            lines += picture.draw(80, 20, color=False).splitlines()
            lines += [f"{one.label} {one.line} {one.color}" for one in picture.series]
            lines += [f"{spot.text} {spot.color}" for spot in picture.spots]
    freeze("rooflines", [line.rstrip() for line in lines])
