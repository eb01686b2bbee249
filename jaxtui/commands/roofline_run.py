"""Running a roofline through an engine: the roofs first, then the cases under them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from jaxtui.analysis.roofline import Place, larger, place
from jaxtui.commands.driving import Driver
from jaxtui.commands.findings import narrate
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.roofline_request import Request
from jaxtui.document import Results
from jaxtui.model import Case, Experiment, OpInfo, PlannedCase, Ready, WorkFailed
from jaxtui.model.roofs import Roof, RoofDtype, RoofMeasured, Roofs, RoofsMeasured
from jaxtui.view.bench import collect, endings


@dataclass
class Drawn(Driver):
    """How far a roofline has come; read when it is interrupted."""

    device: str = ""
    roofs: RoofsMeasured | None = None
    """What is known of them; ``None`` before the first."""
    cases: tuple[Case, ...] = ()
    began: bool = False
    """The cases are being measured, or were."""
    declined: bool = False
    """Somebody was asked whether so long a run is meant, and it is not."""
    _found: dict[RoofDtype | None, Roof] = field(default_factory=dict)

    @property
    def results(self) -> Results:
        """Every case as a measurement or a failure, whatever has arrived."""
        if not self.began:
            return Results.of(self.state.host, (), ())
        return collect(self.state.host, self.cases, self.state.run)

    @property
    def places(self) -> tuple[Place, ...]:
        """The cases that were measured, under their roofs."""
        roofs = self.roofs
        if roofs is None or not self.began:
            return ()
        measured, _ = endings(self.cases, self.state.run)
        return tuple(place(one, roofs) for one in measured)

    async def measure_roofs(self, work: Roofs) -> float:
        """Measure the roofs; gives the seconds that it took.

        Raises:
            CannotRun: if not one could be measured.
        """
        began, failed = time.monotonic(), ""
        async for event in self.follow(await self.engine.run(work)):
            match event:
                case RoofMeasured(roof=roof):
                    self._found[roof.of] = roof
                    self.roofs = self._known()
                case RoofsMeasured():
                    self.roofs = event
                case WorkFailed(error=error, hint=hint):
                    failed = f"{error} {hint}".rstrip()
        if failed and not (self._found or self.lost):
            raise CannotRun(failed)
        if failed:
            narrate(failed)
        return time.monotonic() - began

    async def suited(
        self, experiment: Experiment, request: Request, ready: Ready
    ) -> Experiment:
        """The experiment at sizes that say something on this device.

        A size that was asked for stays, and so does the last one that fits.
        """
        roofs = self.roofs
        if roofs is None:
            return experiment
        infos = {op.name: op for op in ready.ops}
        free = {name for name in infos if request.may_grow(name, ready.ops)}
        planned = (await self.engine.plan(experiment)).cases
        growing = {
            index: one for index, one in enumerate(planned) if one.case.op in free
        }
        cases = list(experiment.cases)
        while bigger := _bigger(growing, infos, roofs):
            tried = msgspec.structs.replace(experiment, cases=tuple(bigger.values()))
            answer = (await self.engine.plan(tried)).cases
            found = zip(bigger, answer, strict=True)
            growing = {index: one for index, one in found if one.problem is None}
            for index, one in growing.items():
                cases[index] = one.case
        return msgspec.structs.replace(experiment, cases=tuple(cases))

    async def measure_cases(self, experiment: Experiment) -> None:
        """Measure the cases, which take turns."""
        self.cases, self.began = experiment.cases, True
        async for _ in self.follow(await self.engine.run(experiment)):
            pass  # the snapshot has taken it in

    def _known(self) -> RoofsMeasured:
        """What has arrived, for as long as the whole has not."""
        kinds = {one.name: one.device_kind for one in self.state.devices}
        return RoofsMeasured(
            device=self.device,
            device_kind=kinds.get(self.device, ""),
            roofs=tuple(self._found.values()),
        )


def _bigger(
    growing: Mapping[int, PlannedCase],
    infos: Mapping[str, OpInfo],
    roofs: RoofsMeasured,
) -> dict[int, Case]:
    """The cases that are too small yet, one step larger."""
    wanted = {
        index: larger(one, infos[one.case.op], roofs) for index, one in growing.items()
    }
    return {
        index: msgspec.structs.replace(one.case, size=wanted[index])
        for index, one in growing.items()
        if wanted[index] != one.case.size
    }
