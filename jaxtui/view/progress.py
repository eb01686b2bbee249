"""What an engine does: how it starts, and how far a run is."""

from __future__ import annotations

from jaxtui.engine.startup import Start, awaits_others, others
from jaxtui.state import Job
from jaxtui.view.words.engine import doing, starting_text
from jaxtui.view.words.hosts import waiting


def starting(start: Start) -> str:
    """``initialising JAX on 8 TPU v5e chips``, ``waiting for process 1 (node-1)``."""
    if start.imported and awaits_others(start):
        return waiting(others(start))
    return starting_text(imported=start.imported, hardware=start.hardware)


def job_text(job: Job) -> str:
    """``process 2 of 5: sampling: matmul 512 float32 jit on cpu:0``; may be empty."""
    if not job.doing:
        return ""
    several = job.processes > 1
    number = job.process + (job.between and job.process < job.processes)
    place = f"process {number} of {job.processes}: " if several else ""
    return f"{place}{doing(job.doing, job.about)}"
