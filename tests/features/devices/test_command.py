"""``jaxtui devices`` and ``jaxtui ops``: what there is, and what is wrong with it."""

from __future__ import annotations

import json

import pytest

from jaxtui.core.model import EngineFailed, Holder, Logged, Noticed
from tests.fake_engine import FakeEngine, up
from tests.records import told
from tests.ui.commands.fakes import run


@pytest.mark.parametrize("name", ["v5litepod-16", "2x-v5litepod-8"])
def test_a_recorded_topology_needs_no_engine(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert run(FakeEngine(opening=()), "devices", "--topology", name) == 0
    assert capsys.readouterr().out.startswith(f"RECORDED: {name}")
    assert run(FakeEngine(opening=()), "devices", "--topology", name, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["devices"]) == 16


def test_what_jax_logs_a_little_later_is_not_lost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = "RuntimeError: Unable to load cuDNN. Is it installed?"
    assert run(FakeEngine(opening=(*up(), Logged(line=line))), "devices") == 0
    out = capsys.readouterr().out
    assert line in out


def test_a_failure_comes_with_what_was_found_out_and_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    holder = Holder(pid=7, user="ada", command="python t.py", paths=())
    finding = told("Slow.", "Do this.", severity="warning")
    failed = EngineFailed(
        remark=told("No.", "Try.", "Error: x\nmore"), holders=(holder,)
    )
    engine = FakeEngine(opening=(Noticed(findings=(finding,)), failed))
    assert run(engine, "devices") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "jaxtui: No. Try.",
        "Held by process 7 of ada (python t.py).",
        "warning: Slow.",
        "  Do this.",
        "The original text:",
        "  Error: x",
        "  more",
    ]
    assert "close" in engine.calls


def test_ops_needs_no_device(capsys: pytest.CaptureFixture[str]) -> None:
    engine = FakeEngine(opening=up()[:1])
    assert run(engine, "ops", "--json") == 0
    ops = json.loads(capsys.readouterr().out)["ops"]
    assert [op["name"] for op in ops] == ["matmul", "selu"]
    assert "close" in engine.calls
