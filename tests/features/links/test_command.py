"""``jaxtui links``: what it asks for, what it says, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from jaxtui.core.model import Event, Experiment, RunFinished, RunStarted
from tests.fake_engine import FakeEngine, cpu_devices, tpu_devices
from tests.features.links.linking import answer, told
from tests.ui.commands.fakes import run


def machine(said: Any = answer, **facts: Any) -> FakeEngine:
    return FakeEngine(said, **({"devices": tpu_devices()} | facts))


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


ALL = {(f"tpu:{n}", f"tpu:{m}") for n in range(8) for m in range(8) if n != m}
ONE = {("tpu:1", "tpu:3"), ("tpu:3", "tpu:1")}
OPTIONS = "--device tpu:3,tpu:1 --budget 2 --seed 7 --size"


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ([], (ALL, 64 * 2**20, 10.0, 0)),
        *(
            ([*OPTIONS.split(), size], (ONE, nbytes, 2.0, 7))
            for size, nbytes in (
                *(("1MiB", 2**20), ("1M", 2**20), ("1MB", 10**6)),
                *(("4096", 4096), ("64 KiB", 2**16)),
            )
        ),
    ],
)
def test_what_is_asked_for(typed: list[str], asked: Any) -> None:
    engine = machine()
    assert run(engine, "links", *typed) == 0
    (work,) = engine.works
    assert isinstance(work, Experiment)
    pairs = {(case.device, case.target) for case in work.cases}
    assert asked == (pairs, work.cases[1].size, work.budget_seconds, work.seed)


def test_one_device_has_no_links(capsys: pytest.CaptureFixture[str]) -> None:
    engine = machine(devices=cpu_devices(1))
    assert run(engine, "links", "--json") == 3
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), engine.works) == ("", 1, [])


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
