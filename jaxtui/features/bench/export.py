"""The files of a run of cases."""

from __future__ import annotations

from jaxtui.core.model import Experiment
from jaxtui.core.state import Job
from jaxtui.features.bench import report
from jaxtui.features.bench.scripts import case_script
from jaxtui.ui.app.base import BaseApp
from jaxtui.ui.app.export import ExportScreen
from jaxtui.ui.export import of_cases
from jaxtui.ui.plot import Picture


def run_screen(app: BaseApp, run: Job, picture: Picture | None) -> ExportScreen:
    """The screen for a run of cases as far as it has come, with its plot."""
    cases = tuple(case.case for case in run.cases)

    async def script() -> str:
        return case_script((await app.recipes(Experiment(cases=cases))).cases)

    files = report.files(report.so_far(app.session.state.host, run), run, picture)
    return ExportScreen(of_cases(cases), {**files, ".py": script})
