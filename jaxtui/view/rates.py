"""The rates of devices as a heat map over their chips, and the stragglers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from jaxtui import format as fmt
from jaxtui.analysis import rates as analysis
from jaxtui.analysis.examination import Examination
from jaxtui.analysis.rates import Rates, Straggler, stragglers
from jaxtui.model import Case, Device, Fact, Remark
from jaxtui.state import Job
from jaxtui.view import words
from jaxtui.view.chipmap import Mark
from jaxtui.view.heat import Scale
from jaxtui.view.text import Line, Span

Shown = Literal["FLOP/s", "B/s", "deviation"]
"""The figure of each device on a chip map: a rate, or its distance from the median."""


class Heat(msgspec.Struct, frozen=True):
    """A chip map in the colours of its devices' rates."""

    title: str
    marks: Mapping[str, Mark]
    legend: tuple[Line, ...]
    """The meaning of the colours, and the stragglers."""


def of_run(run: Job | None, like: Case | None = None) -> tuple[Rates, ...]:
    """The rates of one case of a run that several devices have done.

    Args:
        run: of cases.
        like: a case that is preferred; else it is the one that most devices did.
    """
    rates = _measured(run)
    same_case = analysis.anywhere(like) if like is not None else None
    best = max(
        rates,
        key=lambda r: (r.case == same_case, len(r.by_device)),
        default=None,
    )
    return tuple(r for r in rates if best and r.case == best.case)


def remarks_of(run: Job) -> dict[Case, Remark]:
    """The cases of a run whose devices lag behind others with the same case."""
    remarks: dict[Case, Remark] = {}
    for rates in _measured(run):
        for lagging in stragglers(rates):
            if rates.case is not None:
                case = msgspec.structs.replace(rates.case, device=lagging.device)
                remarks.setdefault(case, remark(lagging))
    return remarks


def _measured(run: Job | None) -> tuple[Rates, ...]:
    cases = run.cases if run is not None else ()
    measured = (case.measurement for case in cases if case.measurement)
    return analysis.of_measurements(measured)


def of_check(exam: Examination | None) -> tuple[Rates, ...]:
    """The rates that a check has read of several devices."""
    return analysis.of_readings(exam.readings) if exam else ()


def choices(rates: Sequence[Rates]) -> tuple[Shown, ...]:
    """Return the figures that can be shown."""
    names: tuple[Shown, ...] = tuple(rate.quantity for rate in rates)
    return (*names, "deviation") if names else ()


def heat(
    rates: Sequence[Rates],
    shown: Shown,
    devices: Sequence[Device],
) -> Heat | None:
    """A map of what is shown; ``None`` where there is nothing of it.

    Args:
        rates: that are known.
        shown: which of them.
        devices: of the machine.
    """
    if shown not in choices(rates):
        return None
    of = next((item for item in rates if item.quantity == shown), rates[0])
    figures = {name: rate.per_second for name, rate in of.by_device.items()}
    if shown == "deviation":
        figures = {name: value / of.median for name, value in figures.items()}
    scale = Scale.of(figures.values())
    if scale is None:
        return None
    unit = fmt.common(figures.values(), of.quantity)
    if shown == "deviation":
        texts = {name: _deviation(value) for name, value in figures.items()}
        ends = _deviation(scale.low), _deviation(scale.high)
        title = f"{of.quantity} from the median"
    else:
        texts = {name: unit.text(value, 3) for name, value in figures.items()}
        ends = unit.text(scale.low, 2), f"{unit.text(scale.high, 2)} {unit.name}"
        title = unit.name
    marks = {
        name: Mark("", "", scale.role(value), texts[name])
        for name, value in figures.items()
    }
    lagging = stragglers(of, devices)
    lines = [scale.swatches(*ends)]
    lines += [_line(item, devices) for item in lagging[:MOST_STRAGGLERS]]
    if len(lagging) > MOST_STRAGGLERS:
        more = f"and {len(lagging) - MOST_STRAGGLERS} more"
        lines.append((Span(more, "check-low"),))
    return Heat(f"{title} · {of.what}", marks, tuple(lines))


MOST_STRAGGLERS = 4
"""Named below a map; the others are counted."""


def remark(straggler: Straggler) -> Remark:
    """Return the remark that a device lags behind the others."""
    bound = straggler.bound
    facts: dict[str, Fact] = {
        "least": bound.factor,
        "bound": bound.code,
        "share": straggler.share,
    }
    return Remark("straggler", facts, "warning")


def _line(straggler: Straggler, devices: Sequence[Device]) -> Line:
    labels = {device.name: device.label for device in devices}
    name = labels.get(straggler.device, straggler.device)
    lagging = remark(straggler)
    share = fmt.percent(straggler.share)
    text = f"{words.label(lagging)}: {name}, {share} of the median"
    return tuple(Span(word, "check-low") for word in text.split(" "))


def _deviation(ratio: float) -> str:
    """``+3 %``, ``−12 %``."""
    percent = round(100 * (ratio - 1))
    return f"{'−' if percent < 0 else '+' if percent else ''}{abs(percent)} %"
