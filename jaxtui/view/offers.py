"""What can be written to files: of a run, a check, the devices, a step of a lesson."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import msgspec
from msgspec.structs import replace

from jaxtui.model import Experiment, Host
from jaxtui.plot import Picture
from jaxtui.state import Job, State
from jaxtui.view import bench, links, scripts
from jaxtui.view.bench import collect
from jaxtui.view.check import Judgement, build
from jaxtui.view.document import Devices, Outcome, Results, check_results, encode
from jaxtui.view.export import file_stem, of_cases, stamp
from jaxtui.view.lesson import Page
from jaxtui.view.render import COLUMNS, LINES, Look, as_svg, markdown, svg
from jaxtui.view.scripts import Planner

Make = Callable[[], "str | Awaitable[str]"]
"""Makes a text, at once or when the engine has answered; called in a thread."""


class Offer(msgspec.Struct, frozen=True):
    """Everything that can be exported at the moment.

    Args:
        stem: what the file is called by default, without the ending.
        contents: what a file holds, by its ending, at least one; the first one is the
            one that is suggested. An ``ExportError`` of theirs says why there is none.
    """

    stem: str
    contents: Mapping[str, Make]


def of_run(
    host: Host | None, run: Job, picture: Picture | None, look: Look, plan: Planner
) -> Offer:
    """A run of cases.

    Args:
        host: that measured.
        run: what has arrived.
        picture: the plot that is shown, if there is one.
        look: the colours of the theme.
        plan: for the script.
    """
    cases = tuple(each.case for each in run.cases)

    async def script() -> str:
        return scripts.of_cases((await plan(Experiment(cases=cases))).cases)

    files = bench.files(_so_far(host, run), run, picture, str, look)
    stem = file_stem(of_cases(cases), stamp())
    return Offer(stem, {**files, ".py": script})


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


def of_check(state: State, judged: Judgement, look: Look) -> Offer:
    """A health check; in the colours of the theme."""

    def document() -> str:
        exam = judged.exam
        results = check_results(
            state.host,
            state.devices,
            judged.verdicts,
            level=exam.level if exam else "quick",
            baseline=None,
            outcome=(exam.outcome if exam else None) or "cancelled",
        )
        return encode(results).decode()

    report = partial(build, judged, state.host)
    return Offer(
        _here("check", state),
        {
            ".json": document,
            ".md": lambda: markdown(report()),
            ".svg": lambda: svg(report(), look),
        },
    )


def of_links(state: State, known: links.Links, look: Look) -> Offer:
    """The links as far as they are known; in the colours of the theme."""
    job = state.jobs.get("links")
    outcome: Outcome = "complete"
    if job is not None and job.outcome != "complete":
        outcome = "incomplete" if job.outcome == "crashed" else "cancelled"
    failed = job.failed if job is not None else None
    document = links.document(state.host, known, failed, outcome)
    files = links.files(document, known.report(state.host), look)
    return Offer(_here("links", state), files)


def of_devices(state: State) -> Offer:
    """What the machine has."""

    def document() -> str:
        return encode(Devices.of(state.host, state.devices, state.hosts)).decode()

    return Offer(_here("devices", state), {".json": document})


def _here(what: str, state: State) -> str:
    return file_stem(what, state.host.hostname if state.host else "", stamp())


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
        return scripts.joined(await scripts.code_parts(works, plan), title)

    def plot() -> str:
        rows = picture.rows(COLUMNS, LINES) if picture else []
        return as_svg(rows, f"{page.lesson.title}: {title}", look)

    found: dict[str, Make] = {".md": page.text}
    if picture is not None:
        found[".svg"] = plot
    if works:
        found[".py"] = script
    return Offer(file_stem(page.lesson.name, f"step{page.number + 1}", stamp()), found)
