"""``jaxtui links``: what it asks for, what it says, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxtui.model import Event, Remark, RunFinished, RunStarted, WorkFailed
from jaxtui.model.links import LinkMeasured, Links
from tests.commands.fakes import ctrl_c, run
from tests.fake_engine import FakeEngine, cpu_devices, tpu_devices
from tests.linking import answer, link, no_link

DOWN = Remark("raised", {"error": "link down", "phase": "transfer"}, "error")


def machine(said: Any = answer, **facts: Any) -> FakeEngine:
    return FakeEngine(said, **({"devices": tpu_devices()} | facts))


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_every_ordered_pair_is_asked_for() -> None:
    engine = machine()
    assert run(engine, "links") == 0
    (work,) = engine.works
    assert isinstance(work, Links)
    assert len(work.pairs) == 56
    assert (work.nbytes, work.budget_seconds, work.seed) == (64 * 2**20, 10.0, 0)


@pytest.mark.parametrize(
    ("size", "nbytes"),
    [("1MiB", 2**20), ("1M", 2**20), ("1MB", 10**6), ("4096", 4096), ("64 KiB", 2**16)],
)
def test_options(size: str, nbytes: int) -> None:
    engine = machine()
    words = ["--size", size, "--device", "tpu:3,tpu:1", "--budget", "2", "--seed", "7"]
    assert run(engine, "links", *words) == 0
    (work,) = engine.works
    assert set(work.pairs) == {("tpu:1", "tpu:3"), ("tpu:3", "tpu:1")}
    assert (work.nbytes, work.budget_seconds, work.seed) == (nbytes, 2.0, 7)


def test_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(machine(), "links", "--json") == 0
    document = printed(capsys)
    assert document["schema"] == 1
    assert document["outcome"] == "complete"
    assert document["host"]["hostname"] == "vm"
    first = document["links"][0]
    assert (first["from"], first["to"], first["hops"]) == ("tpu:0", "tpu:1", 1)
    assert first["latency_seconds"] == pytest.approx(30e-6)
    assert first["bytes_per_second"] == pytest.approx(40e9)


@pytest.mark.parametrize(
    ("devices", "arguments", "code"),
    [
        (cpu_devices(1), (), 3),
        (cpu_devices(2), ("--device", "cpu:0"), 64),
        (cpu_devices(2), ("--device", "cpu:0,cpu:0"), 64),
        (cpu_devices(2), ("--device", "cpu:7"), 64),
        (cpu_devices(2), ("--size", "0"), 64),
        (cpu_devices(2), ("--size", "-1"), 64),
        (cpu_devices(2), ("--size", "1.5"), 64),
        (cpu_devices(2), ("--size", "1e16"), 64),
        (cpu_devices(2), ("--budget", "nan"), 64),
    ],
)
def test_what_makes_no_link_is_said(
    devices: Any,
    arguments: Sequence[str],
    code: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = machine(devices=devices)
    assert run(engine, "links", "--json", *arguments) == code
    out, err = capsys.readouterr()
    assert (out, engine.works) == ("", [])
    assert err.count("\n") == 1


def test_no_room_is_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    refused = WorkFailed(remark=Remark("out-of-memory", {}, "error"))
    ended = RunFinished(outcome="complete", elapsed_seconds=0.1)
    said = [RunStarted(), refused, ended]
    assert run(machine(lambda _: said), "links", "--json") == 3
    assert capsys.readouterr().out == ""


def some(work: Links, *more: LinkMeasured) -> list[Event]:
    return [RunStarted(), link(*work.pairs[0]), *more]


def test_a_broken_link_is_a_failed_case(capsys: pytest.CaptureFixture[str]) -> None:
    def said(work: Links) -> Sequence[Event]:
        first, *others = work.pairs
        links = [no_link(*first, DOWN), *(link(*pair) for pair in others)]
        ended = RunFinished(outcome="complete", elapsed_seconds=1.0)
        return [RunStarted(), *links, ended]

    assert run(machine(said), "links", "--json") == 1
    rows = printed(capsys)["links"]
    assert rows[0]["bytes_per_second"] is None
    assert rows[0]["remarks"][0]["flag"] == "raised"
    assert all(row["bytes_per_second"] for row in rows[1:])


def test_what_had_arrived_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    def said(work: Links) -> Sequence[Event]:
        ctrl_c()
        return some(work)

    assert run(machine(said), "links", "--json") == 130
    document = printed(capsys)
    assert document["outcome"] == "cancelled"
    known = [row for row in document["links"] if row["bytes_per_second"]]
    assert len(known) == 1


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"links{ending}" for ending in (".json", ".md", ".svg")]
    words = [word for file in files for word in ("--export", str(file))]
    assert run(machine(), "links", "--json", *words) == 0
    assert json.loads(files[0].read_text()) == printed(capsys)
    assert files[1].read_text().count("|") > 100
    assert files[2].read_text().startswith("<svg")
    assert run(machine(), "links", "--export", str(tmp_path / "a.csv")) == 64
