"""The roofs of a device: the best bandwidth and the products that the check reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import msgspec

from jaxtui.core.model import Case, CheckRead, CheckTest, Reading, Remark, RunEvent
from jaxtui.core.model.roofs import MissingRoof, Roof, RoofDtype, Roofs, RoofsMeasured
from jaxtui.features.bench.measure import rates
from jaxtui.features.bench.measure.rates import Setting
from jaxtui.tasks import devices, ops
from jaxtui.timing.runner import Runner
from jaxtui.timing.turns import never

CPU_SCALES, SCALES = (1.0, 0.5, 2.0), (1.0, 0.5, 0.25)
"""Sizes of products, as parts of the one that a check takes: a GPU slows down under the
load of the largest, and one that is too small does not fill it."""


def run_roofs(work: Roofs, *, stop: Callable[[], bool] = never) -> Iterator[RunEvent]:
    """Measure the roofs of a device, the bandwidth first.

    ``RoofsMeasured`` comes after each of them, with all that were measured so far.
    """
    return _RoofsRun(work, stop).events()


class _RoofsRun(Runner):
    phase = "first_call"

    def __init__(self, work: Roofs, stop: Callable[[], bool]) -> None:
        super().__init__(work.budget, stop)
        self.case = Case(op="roofs", size=0, dtype="", device=work.device, mode="jit")
        self._work = work
        self._spent = 0.0

    def work(self) -> Iterator[RunEvent]:
        device = devices.find_own(self._work.device)
        yield from self.warm_up(device)
        on_cpu = device.platform == "cpu"
        result = RoofsMeasured(
            device=self._work.device,
            device_kind=device.device_kind,
            roofs=(),
            cache_bytes=rates.last_cache_bytes() if on_cpu else None,
        )
        kinds: list[RoofDtype | None] = [None, *dict.fromkeys(self._work.dtypes)]
        share = self.budget / len(kinds)
        for of in kinds:
            yield self.progress(*_doing(of))
            readings = list(self._readings(device, of, share))
            self._spent += share
            if not readings:  # it was stopped meanwhile
                return
            result = _with_readings(result, of, readings)
            yield result

    def _readings(
        self, device: jax.Device, of: RoofDtype | None, seconds: float
    ) -> Iterator[Reading]:
        test: CheckTest = "bandwidth" if of is None else "compute"
        setting = Setting.of(device)
        if of is None:
            cases = rates.streams(setting)
        elif of.dtype in ops.get("matmul").dtypes:
            scales = CPU_SCALES if device.platform == "cpu" else SCALES
            cases = tuple(rates.product(of, setting, scale) for scale in scales)
        else:
            no_product = Remark("no-product", {"dtype": of.dtype})
            yield rates.reading(test, device, of.label, remarks=(no_product,))
            return
        for case in cases:
            make = partial(rates.prepare, case, device, self._work.seed)
            share = seconds / len(cases)
            for event in rates.measure(test, {device: make}, share, self.stop):
                if isinstance(event, CheckRead):
                    yield event.reading

    @property
    def remaining(self) -> float:
        """Seconds left of the sampling budget; compiling comes on top."""
        return max(0.0, self.budget - self._spent)


def _doing(of: RoofDtype | None) -> tuple[str, str]:
    return ("bandwidth", "") if of is None else ("products", of.label)


def _with_readings(
    result: RoofsMeasured, of: RoofDtype | None, readings: list[Reading]
) -> RoofsMeasured:
    """Add the best of the readings as a roof, or the reason why there is none."""
    figures = [figure for figure in readings if figure.measured is not None]
    if not figures:
        (remark,) = readings[0].remarks
        missing = (*result.missing, MissingRoof(of=of, remark=remark))
        return msgspec.structs.replace(result, missing=missing)
    best = max(figures, key=lambda figure: figure.measured or 0.0)
    facts: dict[str, Any] = {
        "per_second": best.measured,
        "ci_low": best.ci_low,
        "ci_high": best.ci_high,
    }
    roof = Roof(
        kind="bandwidth" if of is None else "compute",
        of=of,
        confidence=best.confidence,
        what=best.what,
        published=best.expected,
        remarks=best.remarks,
        **facts,
    )
    return msgspec.structs.replace(result, roofs=(*result.roofs, roof))
