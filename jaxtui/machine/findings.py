"""What a survey means for somebody who wants to use the machine: pure sentences.

Each finding says what is wrong, how that is known, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui.machine import compared, drivers, settings, taken
from jaxtui.machine.gpu_memory import GpuMemory
from jaxtui.machine.order import ordered
from jaxtui.machine.survey import MAKERS, Survey
from jaxtui.model import Device, Finding


def before(survey: Survey) -> tuple[Finding, ...]:
    """What is known before JAX starts, the worst first."""
    return ordered(_before(survey))


def after(
    survey: Survey, devices: Sequence[Device], memory: Sequence[GpuMemory] = ()
) -> tuple[Finding, ...]:
    """The same, and how it compares with the devices that JAX has.

    Args:
        survey: what was seen before JAX was touched; a machine without accelerators
            needs its packages too.
        devices: all that JAX has.
        memory: of the GPUs, as it was before JAX was touched.
    """
    known = list(_before(survey))
    fallen = list(compared.compared(survey, devices))
    # A fallback whose cause is known is one trouble, not two.
    causes = [one for one in known if one.name in compared.CAUSES]
    if causes and any(one.name == "fallback" for one in fallen):
        fallen = [compared.explained(one, causes[0]) for one in fallen]
        known.remove(causes[0])
    full = taken.memory(memory, survey.holders)
    return ordered([*fallen, *known, *full])


def _before(survey: Survey) -> Iterator[Finding]:
    for maker in MAKERS:
        present = survey.present(maker)
        if present and survey.wanted(maker):
            yield from drivers.not_installed(survey, maker, present)
            yield from drivers.no_device_file(survey, maker, present)
            yield from drivers.forbidden(survey, maker)
    yield from drivers.mismatched(survey)
    yield from taken.taken(survey)
    yield from settings.settings(survey)
