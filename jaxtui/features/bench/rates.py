"""The rates of devices at the same work, the stragglers among them, and their map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from jaxtui.core import format as fmt
from jaxtui.core.model import Case, Device, Fact, Measurement, Remark
from jaxtui.core.model.machine import members
from jaxtui.core.model.own import brief_name
from jaxtui.core.state import Job
from jaxtui.core.stats import median
from jaxtui.features.bench import thresholds
from jaxtui.features.bench.thresholds import Bound
from jaxtui.ui import words
from jaxtui.ui.app.state import Shown
from jaxtui.ui.chipmap import Mark
from jaxtui.ui.heat import Scale
from jaxtui.ui.text import Line, Span

Quantity = Literal["FLOP/s", "B/s"]


MOST_STRAGGLERS = 4
"""Named below a map; the others are counted."""


class Rate(Struct, frozen=True):
    per_second: float
    high: float
    """The best end of its interval."""


class Rates(Struct, frozen=True):
    """The rates of several devices at the same work."""

    quantity: Quantity
    what: str
    """The work, as ``matmul 1000 float32``."""
    by_device: Mapping[str, Rate]
    """The rates by the names of the devices, at least two."""
    case: Case
    """The timed case, on no device."""

    @property
    def median(self) -> float:
        """Per second, of all of them."""
        return median([rate.per_second for rate in self.by_device.values()])


class Straggler(Struct, frozen=True):
    """A device that lags behind the others of its kind."""

    device: str
    share: float
    """The share of the median of the others."""
    bound: Bound
    """The share that is expected of it."""


class Heat(Struct, frozen=True):
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
    rates, case = of_measurements(run), like and replace(like, device="")
    most = max(rates, key=lambda r: (r.case == case, len(r.by_device)), default=None)
    return tuple(r for r in rates if most and r.case == most.case)


def remarks_of(run: Job) -> dict[Case, Remark]:
    """The cases of a run whose devices lag behind others with the same case."""
    remarks: dict[Case, Remark] = {}
    for rates in of_measurements(run):
        for lagging in stragglers(rates):
            case = replace(rates.case, device=lagging.device)
            remarks.setdefault(case, remark(lagging))
    return remarks


def of_measurements(run: Job | None) -> tuple[Rates, ...]:
    """The rates of every case that ran on several devices, one after the other."""
    groups: dict[tuple[Case, Quantity], dict[str, Rate]] = {}
    for state in run.cases if run is not None else ():
        measured, case = state.measurement, state.case
        if measured is None or case.on_host or len(members(case.device)) > 1:
            continue
        per_second: dict[Quantity, float | None] = {
            "FLOP/s": measured.flops_per_second,
            "B/s": measured.bytes_per_second,
        }
        for quantity, value in per_second.items():
            group = groups.setdefault((replace(case, device=""), quantity), {})
            if value:
                group[case.device] = Rate(value, value * _optimism(measured))
    return tuple(
        Rates(quantity, _what(case), by_device, case)
        for (case, quantity), by_device in groups.items()
        if len(by_device) > 1
    )


def _what(case: Case) -> str:
    return f"{brief_name(case.op)} {case.size} {case.dtype}".rstrip()


def _optimism(measured: Measurement) -> float:
    """Return the factor by which the rate may be higher, by the clock until ready."""
    ready = measured.ready
    return ready.median / ready.ci_low if ready and ready.ci_low > 0 else 1.0


def stragglers(rates: Rates, devices: Iterable[Device] = ()) -> tuple[Straggler, ...]:
    """The devices that lag behind the median of the others, the slowest first.

    As between the devices of a check, the best end of the interval must lag.

    Args:
        rates: of the same work.
        devices: of the machine, where they are known: those of a kind are compared.
    """
    kinds = {device.name: device.device_kind for device in devices}
    lagging = []
    for name, rate in rates.by_device.items():
        peers = [
            value.per_second
            for peer, value in rates.by_device.items()
            if peer != name
            and kinds.get(peer, kinds.get(name)) == kinds.get(name, kinds.get(peer))
        ]
        bound = thresholds.ON_HOST if name.startswith("cpu:") else thresholds.ALIKE
        if peers and rate.high < bound.factor * median(peers):
            share = rate.per_second / median(peers)
            lagging.append(Straggler(name, share, bound))
    return tuple(sorted(lagging, key=lambda straggler: straggler.share))


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


def remark(straggler: Straggler) -> Remark:
    """Return the remark that a device lags behind the others."""
    bound = straggler.bound
    facts: dict[str, Fact] = {
        "least": bound.factor,
        "why": bound.why,
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
