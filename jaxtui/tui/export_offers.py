"""What each tab has to export."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxtui.document import (
    Results,
    check_results,
    devices_document,
    encode,
)
from jaxtui.exports.names import named, of_cases, stamp
from jaxtui.exports.pictures import Look, as_svg
from jaxtui.exports.scripts import as_script
from jaxtui.model import Case, Experiment, Plan, Work
from jaxtui.tui import run_files
from jaxtui.tui.aside import in_thread
from jaxtui.tui.collected import collect
from jaxtui.tui.export_offer import Content, Format, Offer, at_once

if TYPE_CHECKING:
    from jaxtui.history import Row
    from jaxtui.lessons.base import Conclusion
    from jaxtui.model import Host
    from jaxtui.plot import Picture
    from jaxtui.tui.check_report import Report
    from jaxtui.tui.history_state import HistoryState
    from jaxtui.tui.learn_state import LessonState
    from jaxtui.tui.run_state import RunState
    from jaxtui.tui.state import State

Planner = Callable[[Experiment], Awaitable[Plan]]
"""Asks the engine for the scripts of cases; raises ``ExportError`` if it cannot."""

PAST_COLUMNS = 1_000
"""Of a measurement as text: nothing of it is cut."""


def of_run(
    state: State, run: RunState, picture: Picture | None, look: Look, plan: Planner
) -> Offer:
    """The run of the tab Bench.

    Args:
        state: what is on screen.
        run: its run.
        picture: the plot that is shown, if there is one.
        look: the colours of the theme.
        plan: for the scripts.
    """
    cases = tuple(one.case for one in run.cases)
    stem = named(of_cases(cases), stamp())
    results = so_far(state.host, run)
    files = run_files.contents(results, run, (), _plot(picture), look)
    drawn = "the plot as it is shown" if picture else "the table: there is no plot yet"
    described = (
        ("JSON", ".json", "every figure, as jaxtui bench --json; for jaxtui compare"),
        ("CSV", ".csv", "a row per case in base units, for spreadsheets"),
        ("Markdown", ".md", "a table for people"),
        ("SVG", ".svg", f"{drawn}, as a picture"),
        ("Text", ".txt", f"{drawn}, and the results"),
    )
    formats = [
        Format(
            label=label,
            ending=ending,
            holds=holds,
            stem=stem,
            content=at_once(files[ending]),
        )
        for label, ending, holds in described
    ]
    if state.case is not None:
        formats.append(_script_of(state.case.case, plan))
    if len(cases) > 1:
        every = "both" if len(cases) == 2 else f"all {len(cases)}"
        formats.append(
            Format(
                label="Script",
                ending=".py",
                holds=f"the same for {every} cases, which take turns",
                stem=stem,
                content=_script(cases, plan),
            )
        )
    count = f", {len(cases)} cases" if len(cases) > 1 else ""
    going = "" if run.outcome else ", what has arrived so far"
    what = f"{run_files.title(run)}{count}{going}"
    return Offer(what=what, formats=tuple(formats))


def so_far(host: Host | None, run: RunState) -> Results:
    """A run as a document; of one that goes on, only what has arrived."""
    if run.outcome is None:
        arrived = (
            one
            for one in run.cases
            if one.failure or (one.measurement and one.measurement.ready)
        )
        run = replace(run, cases=tuple(arrived))
    return collect(host, (), run)


def of_check(state: State, report: Report) -> Offer:
    """The health check of the tab Devices, and the devices."""
    stem = named("check", state.host.hostname if state.host else "", stamp())

    def document() -> str:
        exam = report.check.exam
        results = check_results(
            state.host,
            state.devices,
            report.judged,
            level=report.check.level,
            baseline=None,
            complete=exam is not None and exam.outcome == "complete",
        )
        return encode(results).decode()

    def text() -> str:
        from jaxtui.tui import check_text
        from jaxtui.tui.check_actions import TEXT_COLUMNS

        return check_text.whole(report, TEXT_COLUMNS)

    check = (
        Format(
            label="JSON",
            ending=".json",
            holds="every reading and verdict, as jaxtui check --json",
            stem=stem,
            content=at_once(document),
        ),
        Format(
            label="Text",
            ending=".txt",
            holds="the verdicts and their reasons, in words",
            stem=stem,
            content=at_once(text),
        ),
    )
    return Offer(what="the health check", formats=(*check, _devices(state)))


def of_devices(state: State) -> Offer:
    """What the machine has."""
    return Offer(what="the devices of this machine", formats=(_devices(state),))


def with_devices(offer: Offer, state: State) -> Offer:
    """An offer of the tab Devices: what the machine has can be written as well."""
    return replace(offer, formats=(*offer.formats, _devices(state)))


def of_step(
    lesson: LessonState,
    conclusion: Conclusion | None,
    works: Sequence[Work],
    picture: Picture | None,
    look: Look,
    plan: Planner,
) -> Offer:
    """The step of a lesson.

    Args:
        lesson: the open one.
        conclusion: what its figures say, if it has any.
        works: what the step runs, or has run.
        picture: the plot that is shown, if there is one.
        look: the colours of the theme.
        plan: for the scripts.
    """
    title = lesson.shown.title
    stem = named(lesson.lesson.name, f"step{lesson.index + 1}", stamp())

    def text() -> str:
        from jaxtui.tui import learn_text

        return learn_text.whole(lesson, conclusion)

    async def script() -> str:
        from jaxtui.lessons.code import code_parts, joined

        return joined(await code_parts(works, plan), title)

    formats = [("Text", ".txt", "what the step says and what came out", at_once(text))]
    if works:
        holds = "plain Python of what it runs, with JAX and NumPy alone"
        formats.append(("Script", ".py", holds, script))
    if picture is not None:
        drawn, said = _plot(picture), f"{lesson.lesson.title}: {title}"
        svg = at_once(lambda: as_svg(drawn(True), said, look))
        formats.append(("SVG", ".svg", "the plot as it is shown, as a picture", svg))
    return Offer(
        what=f"the step “{title}”",
        formats=tuple(
            Format(label=label, ending=ending, holds=holds, stem=stem, content=content)
            for label, ending, holds, content in formats
        ),
    )


def of_past(
    past: HistoryState,
    read: Callable[[], Awaitable[tuple[list[Row], int]]],
    plan: Planner,
) -> Offer:
    """What the tab History lists, what is marked, and what is at the cursor.

    Args:
        past: what the tab shows.
        read: reads all that the words mean, and how many that is.
        plan: for the scripts.
    """
    formats = [*_pair(past), *_list(past, read), *_measurement(past, plan)]
    return Offer(what="the history", formats=tuple(formats))


def _list(
    past: HistoryState, read: Callable[[], Awaitable[tuple[list[Row], int]]]
) -> list[Format]:
    def content(ending: str) -> Content:
        async def written() -> str:
            from jaxtui.history.files import contents

            make = contents(*await read())[ending]
            # It may be a hundred thousand rows.
            return await in_thread(make)

        return written

    count = past.count or len(past.rows)
    listed = f"all {count} that are listed" if count > 1 else "the one that is listed"
    described = (
        ("CSV", ".csv", f"{listed}, a row each in base units"),
        ("Markdown", ".md", f"{listed}, as a table for people"),
        ("JSON", ".json", f"{listed}, as jaxtui history --json"),
    )
    stem = named("history", *past.text.split(), stamp())
    return [
        Format(
            label=label, ending=ending, holds=holds, stem=stem, content=content(ending)
        )
        for label, ending, holds in described
    ]


def _pair(past: HistoryState) -> list[Format]:
    found, entries = past.comparison, past.compared
    if found is None or len(entries) != 2:
        return []
    stem = named("compare", *(str(one.id) for one in entries), stamp())

    def document() -> str:
        from jaxtui.history.comparison import Pair, Pairs, Side, compare

        first, second = (
            Side(
                label=str(one.id),
                host=one.host,
                device=one.device,
                measurement=one.measurement,
            )
            for one in entries
        )
        pair = Pair(first=first, second=second, comparison=compare(first, second))
        return encode(Pairs(pairs=(pair,))).decode()

    return [
        Format(
            label="JSON",
            ending=".json",
            holds="the two that are marked, as jaxtui compare --json",
            stem=stem,
            content=at_once(document),
        ),
        Format(
            label="Text",
            ending=".txt",
            holds="the two that are marked, in words",
            stem=stem,
            content=at_once(lambda: _below(past)),
        ),
    ]


def _measurement(past: HistoryState, plan: Planner) -> list[Format]:
    entry = past.detail
    if entry is None:
        return []
    one = entry.measurement

    def document() -> str:
        results = Results(host=entry.host, measurements=(one,), failures=())
        return encode(results).decode()

    alone = replace(past, compared=(), comparison=None, marked=())
    described = (
        ("JSON", ".json", "the one at the cursor, for jaxtui compare", document),
        ("Text", ".txt", "the one at the cursor, in words", lambda: _below(alone)),
    )
    stem = named(of_cases((one.case,)), stamp(entry.at))
    whole = [
        Format(
            label=label,
            ending=ending,
            holds=holds,
            stem=stem,
            content=at_once(make),
        )
        for label, ending, holds, make in described
    ]
    return [*whole, _script_of(one.case, plan)]


def _below(past: HistoryState) -> str:
    from jaxtui.tui.history_text import below

    return below(past, PAST_COLUMNS, brief=False).plain + "\n"


def _devices(state: State) -> Format:
    host = state.host.hostname if state.host else ""
    return Format(
        label="JSON",
        ending=".json",
        holds="what JAX sees on this machine, as jaxtui devices --json",
        stem=named("devices", host, stamp()),
        content=at_once(
            lambda: encode(devices_document(state.host, state.devices)).decode()
        ),
    )


def _script_of(case: Case, plan: Planner) -> Format:
    return Format(
        label="Script",
        ending=".py",
        holds=f"plain JAX and NumPy that time {case.label}",
        stem=named(of_cases((case,)), case.mode, stamp()),
        content=_script((case,), plan),
    )


def _script(cases: tuple[Case, ...], plan: Planner) -> Content:
    async def content() -> str:
        planned = (await plan(Experiment(cases=cases))).cases
        return as_script(planned)

    return content


def _plot(picture: Picture | None) -> run_files.Plot:
    columns, lines = run_files.COLUMNS, run_files.LINES

    def draw(colour: bool) -> str:
        if picture is None:
            return ""
        return picture.draw(columns, lines, color=colour)

    return draw
