"""The reports on devices, their host and the findings about the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import Device, Host, Remark, RoofsMeasured
from jaxtui.core.model.base import dtype_label
from jaxtui.core.model.machine import chip_count, hostnames, slice_count
from jaxtui.core.model.measurement import is_vague
from jaxtui.core.state import State
from jaxtui.features.devices.load import NEARLY_FULL
from jaxtui.machine.topologies import FAMILIES
from jaxtui.ui import chipmap
from jaxtui.ui.documents import machine
from jaxtui.ui.report import Column, Report, Rows, gather, joined, styled
from jaxtui.ui.text import Line, Span, meter

MAP_COLUMNS, MAP_LINES = 80, 60
"""Room for the chip map where text scrolls, so that only its width matters."""

MOST = 64
"""Devices in a report; of more, those of a host are one row."""

_BYTES = ("bytes", "size", "limit", "reserved")
"""Parts of the names of statistics that count bytes."""


def report(
    host: Host | None,
    devices: Sequence[Device],
    findings: Iterable[Remark] = (),
    source: str = "",
    hosts: Sequence[Host] = (),
) -> Report:
    """Return the report on the devices: together, one by one, their chips' places, and
    the findings about the machine.

    Args:
        host: the machine; ``None`` of a TPU that is not here.
        devices: at least one.
        findings: about the machine.
        source: who says that there are these devices, where that is not this machine.
        hosts: of each process, where there are several.
    """
    kinds = "" if devices[0].platform == "cpu" else f"{title(devices)}. "
    several = len({device.process_index for device in devices}) > 1
    many = len(devices) > MOST
    listed = _by_host(devices) if several and many else columns(devices)
    tables = [Rows(listed)]
    if not many and any(device.coords for device in devices):
        drawn = chipmap.render(chipmap.layout(devices), MAP_COLUMNS, MAP_LINES)
        tables.append(Rows((Column("", drawn, grows=True),)))
    simulated = any(device.simulated for device in devices)
    return Report(
        title=title(devices),
        verdict=styled(f"{source}{kinds}{explain(devices, host)}"),
        tables=tuple(tables),
        notes=gather((), findings),
        host=_machine_line(
            host, "SIMULATED devices" if simulated else "", hosts_text(hosts)
        ),
    )


def _machine_line(host: Host | None, *more: str) -> str:
    """The machine, and what else is true of it, in one line."""
    facts = machine(host, "hostname", "cpu", "jax", "libtpu", by=" · ")
    return " · ".join(filter(None, (facts, *more)))


# A table whose columns drop out where there is no room.


def title(devices: Sequence[Device]) -> str:
    """Count the devices of each kind: ``8 × TPU v5 lite``."""
    kinds = Counter(device.device_kind for device in devices)
    return ", ".join(f"{count} × {kind}" for kind, count in kinds.items())


class Product(NamedTuple):
    """The rate of a matrix product."""

    per_second: float
    """FLOP/s."""
    of: str
    """Size and dtype, and what else names it: ``1000 float32``."""
    sure: bool = True
    """True if the rate is known to within a third."""


PRODUCT = "matmul"


def columns(
    devices: Sequence[Device],
    rates: Mapping[str, Product] | None = None,
    marked: Collection[str] = (),
) -> tuple[Column, ...]:
    """Return the columns that tell the devices apart.

    A column in which all would be empty, or alike, is left out.

    Args:
        devices: a row each.
        rates: those of the best matrix product.
        marked: those that the next run is for.
    """
    several = len({d.device_kind for d in devices}) > 1
    elsewhere = len({d.process_index for d in devices}) > 1 or any(
        not d.addressable for d in devices
    )
    shared = chip_count(devices) < len(devices)
    cores = (_text(d.core_on_chip) for d in devices)
    slices = [_text(d.slice_index) for d in devices]
    possible = [
        _column("id", 0, (_marked(d.name, marked) for d in devices)),
        _column("kind", 8, (d.device_kind for d in devices) if several else ()),
        _column("process", 6, map(_process, devices) if elsewhere else ()),
        _column("host", 7, hostnames(devices)),
        _column("slice", 7, slices if len({*slices} - {""}) > 1 else ()),
        _column("coords", 4, map(_coords, devices)),
        _column("core", 5, cores if shared else ()),
        _memory(devices),
        *_rates(devices, rates or {}),
    ]
    return tuple(column for column in possible if column)


def _by_host(devices: Sequence[Device]) -> tuple[Column, ...]:
    """A row for each host, with what its devices have together."""
    members: dict[int, list[Device]] = {}
    for device in devices:
        members.setdefault(device.process_index, []).append(device)
    groups = members.values()
    hosts = [replace(group[0], memory=_total(group)) for group in groups]
    slices = [_text(host.slice_index) for host in hosts]
    possible = [
        _column("process", 0, (str(host.process_index) for host in hosts)),
        _column("host", 1, hostnames(hosts)),
        _column("slice", 4, slices if len({*slices}) > 1 else ()),
        _column("devices", 0, (str(len(group)) for group in groups)),
        _column(
            "ids", 3, (fmt.runs([device.id for device in group]) for group in groups)
        ),
        _memory(hosts),
    ]
    return tuple(column for column in possible if column)


def _total(devices: Sequence[Device]) -> dict[str, int] | None:
    """The memory of all of them together; ``None`` if one of them does not tell."""
    total: Counter[str] = Counter()
    for device in devices:
        if device.memory is None:
            return None
        total.update(device.memory)
    return dict(total)


def _column(name: str, rank: int, texts: Iterable[str]) -> Column | None:
    """A column of plain texts; ``None`` if all of them are empty."""
    cells = tuple(texts)
    return Column(name, cells, rank=rank) if any(cells) else None


def _marked(name: str, marked: Collection[str]) -> str:
    return name + chipmap.CHOSEN * (name in marked)


def _text(value: int | None) -> str:
    return "" if value is None else str(value)


def _coords(device: Device) -> str:
    return ",".join(map(str, device.coords or ()))


def _process(device: Device) -> str:
    mark = "" if device.addressable else " (other)"
    return f"{device.process_index}{mark}"


METER = 8
"""Cells of a meter of memory."""


def _memory(devices: Sequence[Device]) -> Column | None:
    """Return the column of used and total memory, in the unit of the largest."""
    limits = [d.memory_limit_bytes or 0 for d in devices]
    texts = []
    for d in devices:
        used, limit = d.memory_used_bytes, d.memory_limit_bytes
        texts.append("" if used is None else fmt.bytes_used(used, limit))
    if not any(texts):
        return None
    widest = max(map(len, texts))
    cells: list[Line] = []
    for d, text in zip(devices, texts, strict=True):
        used, limit = d.memory_used_bytes, d.memory_limit_bytes
        figure = Span(text.rjust(widest))
        if used is None:
            cells.append(())
        elif not any(limits):
            cells.append((figure,))
        else:
            share = min(1.0, used / limit) if limit else 0.0
            drawn, track = meter(share, METER)
            if share >= NEARLY_FULL:
                drawn = Span(drawn.text, "danger")
            cells.append((drawn, track, Span(" "), figure))
    return Column("memory", cells, rank=2)


def _rates(
    devices: Sequence[Device], rates: Mapping[str, Product]
) -> tuple[Column, ...]:
    """Return the column of the best product's rate, its dtype, and its size where there
    is room.
    """
    products = [rates.get(device.name) for device in devices]
    rates_known = [product.per_second for product in products if product]
    if not rates_known:
        return ()
    unit = fmt.shared(rates_known, "FLOP/s")
    cells: list[Line] = [
        (Span(unit.text(product.per_second), "title"),)
        if product and product.sure
        else (Span(f"~{unit.text(product.per_second, 2)}", "unknown"),)
        if product
        else ()
        for product in products
    ]
    dtypes = {product.of.partition(" ")[2] for product in products if product}
    head = f"{dtypes.pop() if len(dtypes) == 1 else PRODUCT} {unit.name}".strip()
    of: list[Line] = [
        (Span(f"{PRODUCT} {product.of}", "muted"),) if product else ()
        for product in products
    ]
    return (
        Column(head, cells, rank=3, right=True, key="rate"),
        Column("pipelined calls of", of, key="of", rank=9),
    )


def product_rates(state: State) -> dict[str, Product]:
    """The best matrix product that was measured of each device; one that is known to
    within a third, where there is such a one.
    """
    products: dict[str, Product] = {}

    def note(device: str | None, rate: float | None, what: str, *, vague: bool) -> None:
        if device is not None and rate:
            product = Product(rate, what.removeprefix(PRODUCT).strip(), not vague)
            pair = product, products.get(device, product)
            products[device] = max(pair, key=lambda p: (p.sure, p.per_second))

    for case in state.run.cases if state.run else ():
        planned, measured = case.case, case.measurement
        if planned.op == PRODUCT and not planned.on_host and measured:
            kind = dtype_label(planned.dtype, planned.precision)
            vague = measured.ready is None or measured.ready.vague
            what = f"{planned.size} {kind}"
            note(planned.device, measured.flops_per_second, what, vague=vague)
    roofs = (job := state.jobs.get("roofs")) and job.result
    if isinstance(roofs, RoofsMeasured):
        for roof in roofs.roofs:
            if roof.of is not None:
                vague = is_vague(roof.ci_low, roof.ci_high, roof.confidence or 0.0)
                note(roofs.device, roof.per_second, roof.what, vague=vague)
    return products


# Every fact, in groups of pairs of a name and a text.


_MEMORY = ("default_memory", "addressable_memories")
_SOFTWARE = ("platform_version", "runtime_type")
"""Attributes of a device that have a place among other facts."""


def groups(device: Device, host: Host | None) -> dict[str, list[tuple[str, str]]]:
    """All that a device and its host report, what people ask for first; what is not
    there is left out.
    """
    attributes = dict(device.attributes)
    spaces: list[tuple[str, object]] = [
        (name, attributes.pop(name, None)) for name in _MEMORY
    ]
    runtime: list[tuple[str, object]] = [
        (name, attributes.pop(name, None)) for name in _SOFTWARE
    ]
    by_title: dict[str, list[tuple[str, object]]] = {
        "device": [
            ("kind", device.device_kind),
            ("simulated", "yes" if device.simulated else None),
            ("addressable", None if device.addressable else "no (another process)"),
            ("coords", device.coords),
            ("core_on_chip", device.core_on_chip),
            ("slice_index", device.slice_index),
            ("process_index", device.process_index),
            ("local_hardware_id", device.local_hardware_id),
        ],
        "memory": [*_memory_facts(device), *spaces],
        "host": [],
        "software": runtime,
        "attributes": [*attributes.items()],
    }
    if host is not None:
        memory = host.memory_bytes
        by_title["host"] = [
            ("name", host.hostname),
            ("cpu", host.cpu_model),
            ("cores", host.cores or None),
            ("memory", None if memory is None else fmt.bytes_text(memory)),
        ]
        by_title["software"] = [
            ("jax", host.jax),
            ("jaxlib", host.jaxlib),
            ("numpy", host.numpy),
            ("python", host.python),
            ("platform", host.platform_version),
            *host.plugins.items(),
            *runtime,
        ]
        by_title["settings"] = [*{**host.environment, **host.settings}.items()]
    return {
        name: facts
        for name, pairs in by_title.items()
        if (
            facts := [
                (label, str(value)) for label, value in pairs if value is not None
            ]
        )
    }


def _memory_facts(device: Device) -> list[tuple[str, str]]:
    """The device's ``memory_stats()``, bytes as bytes and counts as counts."""
    if not device.memory:
        return [("memory_stats()", f"{fmt.ABSENT} (none on this device)")]
    return [
        (
            name,
            fmt.bytes_text(value)
            if any(part in name for part in _BYTES) and "num" not in name
            else str(value),
        )
        for name, value in device.memory.items()
    ]


def host_summary(host: Host) -> Text:
    """Write the host in short, below a device that has no place on a map."""
    cores = host.cores and f"{host.cores} core{'s' * (host.cores != '1')}"
    memory = None if host.memory_bytes is None else fmt.bytes_text(host.memory_bytes)
    facts = " · ".join(filter(None, (cores, memory)))
    versions = machine(host, "jax", "libtpu", "numpy", by=" · ")
    return joined(filter(None, (host.cpu_model, facts, versions)))


def facts(
    device: Device, devices: Sequence[Device], host: Host | None, width: int
) -> list[RenderableType]:
    """Write the meaning of the layout, and all facts of a device and its host, in
    groups.
    """
    lines: list[RenderableType] = [styled(explain(devices, host))]
    for title, pairs in groups(device, host).items():
        rule = "─" * (width - len(title) - 1)
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(style="muted", max_width=max(22, width // 2), overflow="fold")
        table.add_column(overflow="fold")
        for name, value in pairs:
            table.add_row(styled(name), styled(value))
        lines += ["", Text.assemble((title, "title"), (f" {rule}", "muted")), table]
    return lines


def explain(devices: Sequence[Device], host: Host | None = None) -> str:
    """One plain sentence on how chips, cores and devices relate here."""
    if not devices:
        return "There are no devices."
    first, count = devices[0], len(devices)
    if first.simulated:
        name = fmt.plural(count, f"simulated {first.platform.upper()} device")
        return f"{name} on one CPU: SIMULATED, they share the same cores."
    if first.platform == "cpu" and count == 1:
        cores = f"{host.cores} cores" if host and host.cores else "all cores"
        return f"1 CPU device: XLA's CPU backend uses {cores} as one device."
    if first.platform == "cpu":
        return f"{count} CPU devices: they share the cores of their machine."
    if first.platform == "tpu" and first.coords:
        return _explain_tpu(devices)
    noun = "chip" if first.platform == "tpu" else first.platform.upper()
    name = fmt.plural(count, noun)
    return f"{name} = {fmt.plural(count, 'JAX device')}."


def _explain_tpu(devices: Sequence[Device]) -> str:
    slices = slice_count(devices)
    devices = [d for d in devices if d.slice_index == devices[0].slice_index]
    first, count = devices[0], chip_count(devices)
    cores = len(devices) * first.tensorcores
    terms = [
        fmt.plural(cores, "TensorCore"),
        fmt.plural(count, "chip"),
        fmt.plural(len(devices), "JAX device"),
    ]
    for family in FAMILIES:
        number = cores if family.per_chip > 1 else count
        # A part of a slice, say three chips of eight, has no name of its own.
        if first.device_kind in family.kinds and number & (number - 1) == 0:
            terms.insert(0, f"{family.cloud}-{number}")
    if len(devices) > count:
        relation = f"each core is a device of its own, {len(devices) // count} per chip"
    elif first.tensorcores > 1:
        relation = (
            f"the {first.tensorcores} cores of a chip work as one device (megacore)"
        )
    else:
        relation = "each chip has one core and is one device"
    sliced = f"{slices} slices, each " if slices > 1 else ""
    return f"{sliced}{' = '.join(terms)}: {relation}."


def hosts_text(hosts: Sequence[Host]) -> str:
    """``4 processes on node-1, node-2``; empty of a process alone."""
    names = tuple(dict.fromkeys(host.hostname for host in hosts))
    if not names:
        return ""
    few = len(names) <= 4
    shown = ", ".join(names) if few else fmt.plural(len(names), "host")
    return f"{fmt.plural(len(hosts), 'process')} on {shown}"
