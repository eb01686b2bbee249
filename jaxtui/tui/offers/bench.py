"""What the tab Bench has to export."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jaxtui.document import Results
from jaxtui.export import Look, named, of_cases, stamp
from jaxtui.tui.offers.offer import Format, Offer, at_once, formats
from jaxtui.tui.offers.scripts import Planner, script, script_of
from jaxtui.view import bench
from jaxtui.view.bench import collect

if TYPE_CHECKING:
    from jaxtui.model import Host
    from jaxtui.plot import Picture
    from jaxtui.state import Job
    from jaxtui.tui.state import State


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
    """A run as a document; of one that goes on, only what has arrived."""
    if run.outcome is None:
        arrived = (
            one
            for one in run.cases
            if one.failure or (one.measurement and one.measurement.ready)
        )
        run = replace(run, cases=tuple(arrived))
    return collect(host, (), run)
