"""What can be exported of each tab: formats, and what makes the content of each."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jaxtui import scripts
from jaxtui.analysis.comparison import pairs
from jaxtui.document import Results, check_results, devices_document, encode
from jaxtui.export import COLUMNS, FORMATS, LINES, Look, as_svg, named, of_cases, stamp
from jaxtui.lessons.base import code_parts
from jaxtui.model import Case, Experiment, Plan, Work
from jaxtui.tui import learn_text
from jaxtui.tui.aside import in_thread
from jaxtui.tui.history_text import below, side_of
from jaxtui.view import bench
from jaxtui.view import history as view
from jaxtui.view.bench import collect
from jaxtui.view.check import written
from jaxtui.view.compare import Pairs

if TYPE_CHECKING:
    from jaxtui.history.store import Page
    from jaxtui.lessons.base import Conclusion
    from jaxtui.model import Host
    from jaxtui.plot import Picture
    from jaxtui.state import Job
    from jaxtui.tui.history_state import HistoryState
    from jaxtui.tui.learn_state import LessonState
    from jaxtui.tui.state import State
    from jaxtui.view.check import Report


LABELS = {
    ".json": "JSON",
    ".csv": "CSV",
    ".md": "Markdown",
    ".svg": "SVG",
    ".txt": "Text",
    ".py": "Script",
}
"""What a format is called, by the ending of its file."""

_FOLDERS = (os.curdir, os.pardir, "~")
"""What can only be a folder."""

Content = Callable[[], Awaitable[str]]
"""Makes the text of a file; an ``ExportError`` says why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to write something down."""

    ending: str
    """Of the file's name, with its dot: one of ``LABELS``."""
    holds: str
    """What is in it: a plain line of at most 60 cells."""
    stem: str
    """What the file is called by default, without the ending."""
    content: Content

    @property
    def label(self) -> str:
        """One word."""
        return LABELS[self.ending]

    @property
    def name(self) -> str:
        """What the file is called by default."""
        return self.stem + self.ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Everything that can be exported at the moment."""

    what: str
    """What it is of, in a few words."""
    formats: tuple[Format, ...]
    """At least one."""


def formats(stem: str, *described: tuple[str, str, Content]) -> tuple[Format, ...]:
    """Several formats of one thing.

    Args:
        stem: what the files are called by default.
        described: ending, what is in it, and what makes it.
    """
    return tuple(
        Format(ending=ending, holds=holds, stem=stem, content=content)
        for ending, holds, content in described
    )


def at_once(make: Callable[[], str]) -> Content:
    """The content that takes no time to speak of."""

    async def content() -> str:
        return make()

    return content


def ending_of(name: str) -> str:
    """The known ending of a name; empty if it has none."""
    ending = Path(name).suffix.lower()
    return ending if ending in FORMATS else ""


def renamed(typed: str, ending: str) -> str:
    """What was typed, with the ending of another format."""
    known = ending_of(typed)
    return typed[: len(typed) - len(known)] + ending if known else typed


def target(typed: str, chosen: Format, folder: Path) -> Path | None:
    """The file that is meant, or ``None`` if nothing was typed.

    A name without a known ending gets that of the format, and a folder the name that
    the format suggests.

    Args:
        typed: a path.
        chosen: the format.
        folder: what the path is relative to.
    """
    typed = typed.strip()
    if not typed:
        return None
    is_folder = typed.endswith((os.sep, f"{os.sep}..")) or typed in _FOLDERS
    typed = os.path.expanduser(typed)
    if is_folder:
        return folder / typed / chosen.name
    return folder / (typed if ending_of(typed) else typed + chosen.ending)


def not_offered(path: Path, formats: Sequence[Format]) -> str:
    """Why a path cannot be written, if its ending is that of no format here."""
    endings: Collection[str] = dict.fromkeys(one.ending for one in formats)
    if path.suffix.lower() in endings:
        return ""
    return f"There is no {path.suffix} of this: {', '.join(endings)} can be written."


Planner = Callable[[Experiment], Awaitable[Plan]]
"""Asks the engine for the recipes of cases; raises ``ExportError`` if it cannot."""


def script_of(case: Case, plan: Planner) -> Format:
    """The script of a single case."""
    return Format(
        ending=".py",
        holds=f"plain JAX and NumPy that time {case.label}",
        stem=named(of_cases((case,)), case.mode, stamp()),
        content=script((case,), plan),
    )


def script(cases: tuple[Case, ...], plan: Planner) -> Content:
    """What makes the script of cases, which take turns if there are several."""

    async def content() -> str:
        return scripts.of_cases((await plan(Experiment(cases=cases))).cases)

    return content


def of_run(
    state: State, run: Job, picture: Picture | None, look: Look, plan: Planner
) -> Offer:
    """The run of the tab Bench.

    Args:
        state: what is on screen.
        run: its run.
        picture: the plot that is shown, if there is one.
        look: the colours of the theme.
        plan: for the scripts.
    """
    count = f", {len(run.cases)} cases" if len(run.cases) > 1 else ""
    going = "" if run.outcome else ", what has arrived so far"
    return Offer(
        what=f"{bench.title(run)}{count}{going}",
        formats=(
            *_results(state.host, run, picture, look),
            *_scripts(state, run, plan),
        ),
    )


def _results(
    host: Host | None, run: Job, picture: Picture | None, look: Look
) -> tuple[Format, ...]:
    # The script is an offer of its own.
    files = bench.files(so_far(host, run), run, picture, str, look)
    drawn = "the plot as it is shown" if picture else "the table: there is no plot yet"
    holds = {
        ".json": "every figure, as jaxtui bench --json; for jaxtui compare",
        ".csv": "a row per case in base units, for spreadsheets",
        ".md": "a table for people",
        ".svg": f"{drawn}, as a picture",
        ".txt": f"{drawn}, and the results",
    }
    return formats(
        _stem(run), *((one, said, at_once(files[one])) for one, said in holds.items())
    )


def _scripts(state: State, run: Job, plan: Planner) -> tuple[Format, ...]:
    one = () if state.case is None else (script_of(state.case.case, plan),)
    cases = tuple(each.case for each in run.cases)
    if len(cases) < 2:
        return one
    every = "both" if len(cases) == 2 else f"all {len(cases)}"
    holds = f"the same for {every} cases, which take turns"
    return (*one, *formats(_stem(run), (".py", holds, script(cases, plan))))


def _stem(run: Job) -> str:
    return named(of_cases([one.case for one in run.cases]), stamp())


def so_far(host: Host | None, run: Job) -> Results:
    """A run as a document; while it is running, only what has arrived."""
    if run.outcome is None:
        arrived = (
            one
            for one in run.cases
            if one.failure or (one.measurement and one.measurement.ready)
        )
        run = replace(run, cases=tuple(arrived))
    return collect(host, (), run)


def of_check(state: State, report: Report) -> Offer:
    """The health check, and the devices."""

    def document() -> str:
        exam = report.exam
        results = check_results(
            state.host,
            state.devices,
            report.judged,
            level=exam.level if exam else "quick",
            baseline=None,
            outcome=(exam.outcome if exam else None) or "cancelled",
        )
        return encode(results).decode()

    def text() -> str:
        return written(report)

    every = "every reading and verdict, as jaxtui check --json"
    words = "the verdicts and their reasons, in words"
    check = formats(
        named("check", _hostname(state), stamp()),
        (".json", every, at_once(document)),
        (".txt", words, at_once(text)),
    )
    return Offer(what="the health check", formats=(*check, *_devices(state)))


def of_devices(state: State) -> Offer:
    """What the machine has."""
    return Offer(what="the devices of this machine", formats=_devices(state))


def with_devices(offer: Offer, state: State) -> Offer:
    """An offer of the tab Devices: what the machine has can be written as well."""
    return replace(offer, formats=(*offer.formats, *_devices(state)))


def _devices(state: State) -> tuple[Format, ...]:
    def document() -> str:
        return encode(devices_document(state.host, state.devices)).decode()

    holds = "what JAX sees on this machine, as jaxtui devices --json"
    stem = named("devices", _hostname(state), stamp())
    return formats(stem, (".json", holds, at_once(document)))


def _hostname(state: State) -> str:
    return state.host.hostname if state.host else ""


Reader = Callable[[], Awaitable["Page"]]
"""Reads all that the words mean."""

UNCUT = 1_000
"""Of a measurement as text: nothing of it is cut."""


def of_past(past: HistoryState, read: Reader, plan: Planner) -> Offer:
    """What the tab lists, what is marked, and what is at the cursor.

    Args:
        past: what the tab shows.
        read: reads what is listed.
        plan: for the scripts.
    """
    every = (*_pair(past), *_list(past, read), *_measurement(past, plan))
    return Offer(what="the history", formats=every)


def _list(past: HistoryState, read: Reader) -> tuple[Format, ...]:
    def content(ending: str) -> Content:
        async def written() -> str:

            make = view.files(await read())[ending]
            # It may be a hundred thousand rows.
            return await in_thread(make)

        return written

    count = (past.count or past.read) - past.unreadable
    listed = f"all {count} that are listed" if count > 1 else "the one that is listed"
    holds = {
        ".csv": f"{listed}, a row each in base units",
        ".md": f"{listed}, as a table for people",
        ".json": f"{listed}, as jaxtui history --json",
    }
    stem = named("history", *past.text.split(), stamp())
    return formats(stem, *((one, said, content(one)) for one, said in holds.items()))


def _pair(past: HistoryState) -> tuple[Format, ...]:
    found, entries = past.comparison, past.compared
    if found is None or len(entries) != 2:
        return ()

    def document() -> str:
        sides = [[side_of(one, str(one.id))] for one in entries]
        return encode(Pairs(pairs=pairs(*sides))).decode()

    every = "the two that are marked, as jaxtui compare --json"
    words = "the two that are marked, in words"
    return formats(
        named("compare", *(str(one.id) for one in entries), stamp()),
        (".json", every, at_once(document)),
        (".txt", words, at_once(lambda: _below(past))),
    )


def _measurement(past: HistoryState, plan: Planner) -> tuple[Format, ...]:
    entry = past.detail
    if entry is None:
        return ()
    one, alone = (
        entry.measurement,
        replace(past, compared=(), comparison=None, marked=()),
    )

    def document() -> str:
        results = Results.of(entry.host, (one,), ())
        return encode(results).decode()

    whole = formats(
        named(of_cases((one.case,)), stamp(entry.at)),
        (".json", "the one at the cursor, for jaxtui compare", at_once(document)),
        (".txt", "the one at the cursor, in words", at_once(lambda: _below(alone))),
    )
    return (*whole, script_of(one.case, plan))


def _below(past: HistoryState) -> str:
    return below(past, UNCUT, brief=False).plain + "\n"


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

    def text() -> str:
        return learn_text.whole(lesson, conclusion)

    async def script() -> str:
        return scripts.joined(await code_parts(works, plan), title)

    def svg() -> str:
        shown = picture.rows(COLUMNS, LINES) if picture else []
        return as_svg(shown, f"{lesson.lesson.title}: {title}", look)

    described = [(".txt", "what the step says and what came out", at_once(text))]
    if works:
        holds = "plain Python of what it runs, with JAX and NumPy alone"
        described.append((".py", holds, script))
    if picture is not None:
        holds = "the plot as it is shown, as a picture"
        described.append((".svg", holds, at_once(svg)))
    stem = named(lesson.lesson.name, f"step{lesson.index + 1}", stamp())
    return Offer(what=f"the step “{title}”", formats=formats(stem, *described))
