"""What is said of links: figures by distance, heat maps, and what qualifies them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from jaxtui.analysis.links import choose
from jaxtui.machine.network import Network
from jaxtui.model import Device, Remark
from jaxtui.model.links import LinkMeasured, LinksMeasured
from jaxtui.model.links import Links as Work
from jaxtui.state import Job
from jaxtui.view import links as view
from jaxtui.view.heat import Scale
from jaxtui.view.report import lines
from jaxtui.view.text import plain
from tests.fake_engine import cpu_devices, tpu_devices
from tests.linking import link, no_link

RATE = 40e9


def seen(
    devices: tuple[Device, ...],
    slower: dict[tuple[str, str], float] | None = None,
    everyone: tuple[Device, ...] = (),
    remarks: tuple[Remark, ...] = (),
) -> view.Links:
    pairs = tuple(choose(devices, Network(everyone or devices)))
    measured = {
        pair: link(*pair, slower=(slower or {}).get(pair, 1.0)) for pair in pairs
    }
    work = Work(pairs=pairs)
    return view.Links(work, everyone or devices, measured, remarks)


def codes(links: view.Links) -> list[str]:
    return [statement.remark.code for statement in links.statements()]


def test_only_a_run_of_links_has_links() -> None:
    work = Work(pairs=(("tpu:0", "tpu:1"),))
    assert view.Links.of(None, tpu_devices()) is None
    assert view.Links.of(Job(1), tpu_devices()) is None
    job = Job(1, "links", work, links={("tpu:0", "tpu:1"): link("tpu:0", "tpu:1")})
    found = view.Links.of(job, tpu_devices())
    assert found is not None
    assert found.rate(("tpu:0", "tpu:1")) == pytest.approx(RATE)
    assert found.remarks == ()
    busy = Remark("contended", {"by": "processes", "used_cores": 1.0, "cores": 2})
    ended = view.Links.of(
        replace(job, result=LinksMeasured(remarks=(busy,))), tpu_devices()
    )
    assert ended is not None
    assert ended.remarks == (busy,)


def test_the_headline_has_the_medians_and_ends() -> None:
    facts = seen(tpu_devices(), {("tpu:0", "tpu:1"): 2.0}).headline.facts
    assert (facts["pairs"], facts["measured"]) == (56, 56)
    assert facts["rate"] == facts["fastest"] == pytest.approx(RATE)
    assert facts["slowest"] == pytest.approx(RATE / 2)
    assert facts["latency"] == pytest.approx(30e-6)


def test_a_row_for_each_distance() -> None:
    by_distance, *maps = seen(tpu_devices()).tables()
    hops, pairs, *_ = by_distance.columns
    assert [plain(cell) for cell in hops.cells] == ["1", "2", "3", "4"]
    counts = [int(plain(cell)) for cell in pairs.cells]
    assert counts == [20, 20, 12, 4]
    assert sum(counts) == 56
    assert len(maps) == 2
    assert len(seen(cpu_devices(4)).tables()) == 2


def test_a_heat_map_keeps_directions() -> None:
    links = seen(tpu_devices(), {("tpu:2", "tpu:5"): 2.0})
    table = links.heat_map("rate")
    assert table is not None
    assert table.title.startswith("GB/s")
    _, *columns = table.columns
    texts = [[plain(column.cells[row]) for column in columns] for row in range(8)]
    assert [texts[n][n] for n in range(8)] == ["·"] * 8
    assert (texts[2][5].strip(), texts[5][2].strip()) == ("20", "40")
    roles = {columns[5].cells[2][0].role, columns[2].cells[5][0].role}
    assert roles == {"heat-0", "heat-7"}


@pytest.mark.parametrize(("count", "rows"), [(16, 16), (17, 9), (64, 16), (100, 15)])
def test_many_devices_share_rows(count: int, rows: int) -> None:
    links = seen(cpu_devices(count))
    assert len(links.groups) == rows <= view.MOST_ROWS
    assert [name for names in links.groups for name in names] == [
        device.name for device in links.devices
    ]
    for line in lines(links.report(None), 80):
        assert len(plain(line)) <= 80


def test_what_qualifies_them() -> None:
    assert codes(seen(tpu_devices())) == ["hops"]
    assert codes(seen(cpu_devices(3, simulated=True))) == ["simulated"]
    assert codes(seen(cpu_devices(20))) == ["links-sampled"]
    assert codes(seen(tpu_devices(), {("tpu:0", "tpu:1"): 2.0})) == [
        "slow-link",
        "hops",
    ]
    others = tuple(
        Device(
            id=8 + n,
            platform="tpu",
            device_kind="TPU v5 lite",
            process_index=1,
            coords=(n, 2, 0),
            slice_index=0,
            addressable=False,
        )
        for n in range(4)
    )
    links = seen(tpu_devices(), everyone=(*tpu_devices(), *others))
    assert codes(links) == ["hops", "links-elsewhere"]
    assert links.statements()[1].remark.facts == {"devices": 4, "processes": 1}


def test_a_pair_without_figures_says_why() -> None:
    links = seen(cpu_devices(3))
    pair = ("cpu:0", "cpu:2")
    copied = Remark("nothing-copied", {}, "warning")
    measured = {**links.measured, pair: no_link(*pair, copied)}
    links = view.Links(links.work, links.everyone, measured)
    (statement,) = links.statements()
    assert statement.remark == copied
    assert statement.about == ("cpu:0 → cpu:2",)
    document = view.document(None, links, None, "complete")
    (row,) = [one for one in document.links if (one.source, one.target) == pair]
    assert (row.bytes_per_second, row.latency_seconds) == (None, None)
    assert row.remarks == (copied,)


def test_the_document_has_every_pair_asked_for() -> None:
    devices = tpu_devices()
    links = seen(devices, {("tpu:0", "tpu:1"): 2.0})
    some = {pair: links.measured[pair] for pair in links.work.pairs[:10]}
    links = view.Links(links.work, devices, some)
    document = view.document(None, links, None, "cancelled")
    assert [(row.source, row.target) for row in document.links] == [*links.work.pairs]
    first = document.links[0]
    assert (first.source, first.target, first.hops) == ("tpu:0", "tpu:1", 1)
    assert first.bytes_per_second == pytest.approx(RATE / 2)
    assert first.bytes_per_second_low
    assert first.bytes_per_second_high
    assert first.bytes_per_second_low < RATE / 2 < first.bytes_per_second_high
    assert first.share == pytest.approx(0.5)
    assert document.links[-1].bytes_per_second is None
    nothing = view.document(None, None, None, "cancelled")
    assert (nothing.links, nothing.size_bytes) == ((), None)


def test_a_report_without_a_figure() -> None:
    work = Work(pairs=(("tpu:0", "tpu:1"),))
    down = Remark("raised", {"error": "link down", "phase": "transfer"}, "error")
    broken: dict[tuple[str, str], LinkMeasured]
    broken = {("tpu:0", "tpu:1"): no_link("tpu:0", "tpu:1", down)}
    links = view.Links(work, tpu_devices(), broken)
    assert links.headline.facts["rate"] is None
    assert links.tables() == ()
    assert codes(links) == ["raised", "hops"]
    assert links.report(None).verdict


def test_a_scale_covers_a_factor_of_two() -> None:
    assert Scale.of([]) is None
    alike = Scale.of([95.0, 100.0])
    assert alike is not None
    assert alike.role(95.0) == alike.role(100.0) == "heat-7"
    outlier = Scale.of([1.0, 1.1, 1.2, 1.5, 1.9, 1000.0])
    assert outlier is not None
    assert len({outlier.role(x) for x in (1.0, 1.5, 1.9, 1000.0)}) == 4
    apart = Scale.of([10.0, 55.0, 100.0])
    assert apart is not None
    assert [apart.role(x) for x in (10.0, 55.0, 100.0)] == [
        "heat-0",
        "heat-4",
        "heat-7",
    ]


def test_figures_stand_in_the_middle_of_cells_as_tall_as_there_is_room() -> None:
    links = seen(cpu_devices(2))
    for height, tall in ((3, 1), (5, 2), (7, 3), (40, 3)):
        lines = [plain(line) for line in links.lines("rate", (0, 1), 60, height)]
        assert len(lines) == 1 + 2 * tall
        rows = [place for place, line in enumerate(lines) if line[:2] in ("0 ", "1 ")]
        assert rows == [1 + (tall - 1) // 2, 1 + tall + (tall - 1) // 2]
        assert links.cell_at(3, tall, 60, height) == (0, 0)
        assert links.cell_at(3, tall + 1, 60, height) == (1, 0)
