"""A screen about one case, and the work whose result it shows."""

from __future__ import annotations

from typing import ClassVar

from jaxtui.core.experiments import loopable
from jaxtui.core.model import Case, Inspection
from jaxtui.core.model.profile import Profiling
from jaxtui.core.state import Job, Purpose
from jaxtui.ui import words
from jaxtui.ui.app.base import BaseApp
from jaxtui.ui.app.modal import Modal
from jaxtui.ui.app.state import State
from jaxtui.ui.progress import job_text


class CaseScreen(Modal):
    """Shows what came of a work.

    Args:
        work: ``None`` where something else is shown.
    """

    WORK: ClassVar[type[Profiling] | type[Inspection]]
    PURPOSE: ClassVar[Purpose]

    def __init__(self, work: Profiling | Inspection | None) -> None:
        super().__init__()
        self.work = work
        self.job: Job | None = None

    def follow(self, state: State) -> None:
        super().follow(state)
        job = state.jobs.get(self.PURPOSE)
        if job is not None and job.work == self.work and job is not self.job:
            self.job = job
            self.draw()

    def draw(self) -> None:
        """Show what has come."""
        raise NotImplementedError

    @property
    def waiting(self) -> str:
        """The text while there is no result."""
        job = self.job
        if job is not None and job.failed is not None:
            return f"{words.why(job.failed)}\n{job.failed.remark.detail}".rstrip()
        if job is not None and job.outcome is not None:
            return "You stopped it."
        return f"{job_text(job) if job else 'starting'} …"


def open_case(app: BaseApp, screen: type[CaseScreen], case: Case) -> None:
    """Do the work of a screen on a case, as JAX dispatches it, and show it."""
    device = app.session.state.device
    if device is not None:
        is_pallas = case.mode == "pallas"
        work = screen.WORK(case=case if is_pallas else loopable(case, device.name))
        app.push_screen(screen(work))
        app.start(work, screen.PURPOSE)
