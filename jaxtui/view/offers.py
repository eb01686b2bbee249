"""What can be written to files: of a run, a check, the devices, a step of a lesson."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

from jaxtui import scripts
from jaxtui.lessons.play import code_parts
from jaxtui.model import Case, Experiment, Host
from jaxtui.plot import Picture
from jaxtui.scripts import Planner
from jaxtui.state import Job, State
from jaxtui.view import bench
from jaxtui.view.bench import collect
from jaxtui.view.check import Report
from jaxtui.view.check import text as check_text
from jaxtui.view.document import Devices, Results, check_results, encode
from jaxtui.view.export import (
    COLUMNS,
    LINES,
    Look,
    as_svg,
    file_stem,
    of_cases,
    stamp,
    target,
)
from jaxtui.view.lesson_page import Page

Make = Callable[[], "str | Awaitable[str]"]
"""Makes a text, at once or when the disk or the engine has answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to write something down."""

    ending: str
    """Of the file's name, with its dot: one of ``export.FORMATS``."""
    holds: str
    """What is in it: a plain line of at most 60 cells."""
    stem: str
    """What the file is called by default, without the ending."""
    make: Make

    @property
    def name(self) -> str:
        """What the file is called by default."""
        return self.stem + self.ending

    async def content(self) -> str:
        """The text of the file; an ``ExportError`` says why there is none."""
        made = self.make()
        return made if isinstance(made, str) else await made


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Everything that can be exported at the moment."""

    what: str
    """What it is of, in a few words."""
    formats: tuple[Format, ...]
    """At least one."""

    def path(self, typed: str, chosen: Format, folder: Path) -> Path:
        """The file that is meant by a name, as ``export.target`` has it."""
        endings = [one.ending for one in self.formats]
        return target(typed, chosen.name, endings, folder)


def formats(stem: str, *described: tuple[str, str, Make]) -> list[Format]:
    """Several formats of one thing.

    Args:
        stem: what the files are called by default.
        described: ending, what is in it, and what makes it.
    """
    return [
        Format(ending=ending, holds=holds, stem=stem, make=make)
        for ending, holds, make in described
    ]


def script_of(case: Case, plan: Planner) -> Format:
    """The script of a single case."""
    stem = file_stem(of_cases((case,)), case.mode, stamp())
    holds = f"plain JAX and NumPy that time {case.label}"
    return script(stem, holds, (case,), plan)


def script(stem: str, holds: str, cases: tuple[Case, ...], plan: Planner) -> Format:
    """The script of cases, which take turns if there are several."""

    async def make() -> str:
        return scripts.of_cases((await plan(Experiment(cases=cases))).cases)

    return Format(ending=".py", holds=holds, stem=stem, make=make)


def of_run(
    host: Host | None,
    run: Job,
    case: Case | None,
    picture: Picture | None,
    look: Look,
    plan: Planner,
) -> Offer:
    """A run of cases.

    Args:
        host: that measured.
        run: what has arrived.
        case: the one that has a script of its own.
        picture: the plot that is shown, if there is one.
        look: the colours of the theme.
        plan: for the scripts.
    """
    cases = tuple(each.case for each in run.cases)
    count = f", {len(cases)} cases" if len(cases) > 1 else ""
    going = "" if run.outcome else ", what has arrived so far"
    stem = file_stem(of_cases(cases), stamp())
    files = bench.files(_so_far(host, run), run, picture, str, look)
    drawn = "the plot as it is shown" if picture else "the table: there is no plot yet"
    found = formats(
        stem,
        (
            ".json",
            "every figure, as jaxtui bench --json; for jaxtui compare",
            files[".json"],
        ),
        (".csv", "a row per case in base units, for spreadsheets", files[".csv"]),
        (".md", "a table for people", files[".md"]),
        (".svg", f"{drawn}, as a picture", files[".svg"]),
        (".txt", f"{drawn}, and the results", files[".txt"]),
    )
    if case is not None:
        found.append(script_of(case, plan))
    if len(cases) > 1:
        every = "both" if len(cases) == 2 else f"all {len(cases)}"
        holds = f"the same for {every} cases, which take turns"
        found.append(script(stem, holds, cases, plan))
    return Offer(what=f"{bench.title(run)}{count}{going}", formats=tuple(found))


def _so_far(host: Host | None, run: Job) -> Results:
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
    """A health check, and the devices."""

    def document() -> str:
        exam = report.exam
        results = check_results(
            state.host,
            state.devices,
            report.verdicts,
            level=exam.level if exam else "quick",
            baseline=None,
            outcome=(exam.outcome if exam else None) or "cancelled",
        )
        return encode(results).decode()

    stem = file_stem("check", state.host.hostname if state.host else "", stamp())
    found = formats(
        stem,
        (".json", "every reading and verdict, as jaxtui check --json", document),
        (
            ".txt",
            "the verdicts and their reasons, in words",
            lambda: check_text(report),
        ),
    )
    return Offer(what="the health check", formats=(*found, *_devices(state)))


def of_devices(state: State) -> Offer:
    """What the machine has."""
    return Offer(what="the devices of this machine", formats=tuple(_devices(state)))


def with_devices(offer: Offer, state: State) -> Offer:
    """An offer of the tab Devices: what the machine has can be written as well."""
    return replace(offer, formats=(*offer.formats, *_devices(state)))


def _devices(state: State) -> list[Format]:
    def document() -> str:
        return encode(Devices.of(state.host, state.devices)).decode()

    holds = "what JAX sees on this machine, as jaxtui devices --json"
    stem = file_stem("devices", state.host.hostname if state.host else "", stamp())
    return formats(stem, (".json", holds, document))


def of_step(page: Page, look: Look, plan: Planner) -> Offer:
    """A step of a lesson.

    Args:
        page: of the step.
        look: the colours of the theme.
        plan: asks the engine how to do cases without jaxtui.
    """
    title, picture = page.step.title, page.figures.picture
    works = page.works

    async def script() -> str:
        return scripts.joined(await code_parts(works, plan), title)

    def svg() -> str:
        rows = picture.rows(COLUMNS, LINES) if picture else []
        return as_svg(rows, f"{page.lesson.title}: {title}", look)

    text = "what the step says and what came out"
    stem = file_stem(page.lesson.name, f"step{page.number + 1}", stamp())
    found = formats(stem, (".txt", text, page.text))
    if works:
        holds = "plain Python of what it runs, with JAX and NumPy alone"
        found += formats(stem, (".py", holds, script))
    if picture is not None:
        holds = "the plot as it is shown, as a picture"
        found += formats(stem, (".svg", holds, svg))
    return Offer(what=f"the step “{title}”", formats=tuple(found))
