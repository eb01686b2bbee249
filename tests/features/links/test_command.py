"""``jaxtui links``: what it asks for, what it says, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxtui.core.model import Event, Experiment, RunFinished, RunStarted
from tests.fake_engine import FakeEngine, cpu_devices, tpu_devices
from tests.features.links.linking import answer, told
from tests.ui.commands.fakes import ctrl_c, run


def machine(said: Any = answer, **facts: Any) -> FakeEngine:
    return FakeEngine(said, **({"devices": tpu_devices()} | facts))


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def asked(engine: FakeEngine) -> tuple[set[tuple[str, str]], int, float | None, int]:
    (work,) = engine.works
    assert isinstance(work, Experiment)
    pairs = {(case.device, case.target) for case in work.cases}
    return pairs, work.cases[1].size, work.budget_seconds, work.seed


def test_every_ordered_pair_is_asked_for() -> None:
    engine = machine()
    assert run(engine, "links") == 0
    pairs, *rest = asked(engine)
    assert len(pairs) == 56
    assert rest == [64 * 2**20, 10.0, 0]


@pytest.mark.parametrize(
    ("size", "nbytes"),
    [("1MiB", 2**20), ("1M", 2**20), ("1MB", 10**6), ("4096", 4096), ("64 KiB", 2**16)],
)
def test_options(size: str, nbytes: int) -> None:
    engine = machine()
    words = ["--size", size, "--device", "tpu:3,tpu:1", "--budget", "2", "--seed", "7"]
    assert run(engine, "links", *words) == 0
    pairs = {("tpu:1", "tpu:3"), ("tpu:3", "tpu:1")}
    assert asked(engine) == (pairs, nbytes, 2.0, 7)


def test_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(machine(), "links", "--json") == 0
    document = printed(capsys)
    assert [*document][:4] == ["schema", "command", "host", "complete"]
    assert (document["schema"], document["command"]) == (2, "links")
    assert document["complete"] is True
    assert document["host"]["hostname"] == "vm"
    first = document["links"][0]
    assert (first["from"], first["to"], first["hops"]) == ("tpu:0", "tpu:1", 1)
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


@pytest.mark.parametrize(
    ("broken", "code"), [(["tpu:3"], 1), ([f"tpu:{n}" for n in range(8)], 3)]
)
def test_broken_links_are_failed_cases(
    broken: Sequence[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(work: Experiment) -> Iterator[Event]:
        yield RunStarted(cases=work.cases)
        yield from told(work, broken=broken)
        yield RunFinished(outcome="complete", elapsed_seconds=1.0)

    assert run(machine(said), "links", "--json") == code
    out, err = capsys.readouterr()
    if code == 3:
        assert (out, err.count("\n")) == ("", 1)
        assert "link down" in err
    else:
        rows = json.loads(out)["links"]
        assert sum(row["bytes_per_second"] is None for row in rows) == 7


def test_what_had_arrived_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    def said(work: Experiment) -> Sequence[Event]:
        ctrl_c()
        return [RunStarted(cases=work.cases), *[*told(work)][:4]]

    assert run(machine(said), "links", "--json") == 130
    document = printed(capsys)
    assert document["complete"] is False
    assert sum(bool(row["bytes_per_second"]) for row in document["links"]) == 1


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"links{ending}" for ending in (".json", ".md", ".svg")]
    words = [word for file in files for word in ("--export", str(file))]
    assert run(machine(), "links", "--json", *words) == 0
    assert json.loads(files[0].read_text()) == printed(capsys)
    assert files[1].read_text().count("|") > 100
    assert files[2].read_text().startswith("<svg")
    assert "fonts.googleapis" not in files[2].read_text()
    assert run(machine(), "links", "--export", str(tmp_path / "a.csv")) == 64
