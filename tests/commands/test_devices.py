"""``jaxtui devices`` and ``jaxtui ops``: what there is, and what is wrong with it."""

from __future__ import annotations

import json

import pytest

from jaxtui.model import (
    Device,
    EngineFailed,
    Finding,
    Hello,
    Holder,
    Logged,
    Noticed,
    Ready,
)
from tests.commands.fakes import DEVICES, HOST, OPS, UP, FakeEngine, run


@pytest.mark.parametrize("name", ["v5litepod-16", "2x-v5litepod-8"])
def test_a_recorded_topology_needs_no_engine(capsys, name) -> None:
    assert run(FakeEngine(()), "devices", "--topology", name) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"RECORDED: {name}")
    assert "16 chips" in out
    assert run(FakeEngine(()), "devices", "--topology", name, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["devices"]) == 16


def test_devices_says_what_is_to_be_known_of_the_machine(capsys) -> None:
    finding = Finding(
        name="fallback",
        severity="error",
        what="This machine has 4 chips TPU v5e, but JAX uses cpu.",
        how="The PCI bus shows the chips.",
        advice="Ask JAX why.",
    )
    ready = Ready(host=HOST, devices=DEVICES, ops=OPS, findings=(finding,))
    opening = (Hello(pid=1, ops=OPS), ready)
    assert run(FakeEngine(opening), "devices") == 0
    assert "error: This machine has 4 chips TPU v5e" in capsys.readouterr().out
    assert run(FakeEngine(opening), "devices", "--json") == 0
    out, err = capsys.readouterr()
    assert list(json.loads(out)) == ["schema", "host", "devices"]
    assert "Ask JAX why." in err


def test_what_jax_logs_a_little_later_is_not_lost(capsys) -> None:
    line = "RuntimeError: Unable to load cuDNN. Is it installed?"
    opening = (Hello(pid=1, ops=OPS), UP[-1], Logged(line=line))
    assert run(FakeEngine(opening), "devices") == 0
    out = capsys.readouterr().out
    assert "error: JAX's CUDA plugin is installed, but its library cuDNN" in out
    assert f"\n  {line}" in out


def test_a_failure_comes_with_what_was_found_out_and_said(capsys) -> None:
    holder = Holder(pid=7, user="ada", command="python t.py", paths=())
    finding = Finding(
        name="a", severity="warning", what="Slow.", how="So.", advice="Do this."
    )
    failed = EngineFailed(
        reason="backend",
        error="No.",
        hint="Try.",
        detail="Error: x\nmore",
        holders=(holder,),
    )
    opening = (Noticed(findings=(finding,)), failed)
    assert run(FakeEngine(opening), "devices") == 3
    assert capsys.readouterr().err.splitlines() == [
        "jaxtui: No. Try.",
        "Held by process 7 of ada (python t.py).",
        "warning: Slow.",
        "  Do this.",
        "  So.",
        "The original text:",
        "  Error: x",
        "  more",
    ]


def test_devices_as_text_marks_simulated_ones_and_draws_the_chips(capsys) -> None:
    chips = tuple(
        Device(
            id=index,
            platform="tpu",
            device_kind="TPU v5 lite",
            process_index=0,
            coords=(index % 2, index // 2, 0),
            core_on_chip=0,
            memory={"bytes_in_use": 2**30, "bytes_limit": 2**34},
            simulated=index == 3,
        )
        for index in range(4)
    )
    ready = Ready(host=HOST, devices=chips, ops=OPS)
    assert run(FakeEngine(opening=[UP[0], ready]), "devices") == 0
    out = capsys.readouterr().out
    assert "tpu:1  TPU v5 lite" in out
    assert "1,0,0" in out
    assert out.count("SIMULATED") >= 2
    assert "\ny 0 [0] [1]\n" in out.replace("  ", " ")


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_ops_needs_no_device(capsys, flags: tuple[str, ...]) -> None:
    engine = FakeEngine(opening=UP[:1])
    assert run(engine, "ops", *flags) == 0
    out = capsys.readouterr().out
    assert "What matmul does." in out
    if flags:
        document = json.loads(out)
        assert document["schema"] == 1
        assert [op["name"] for op in document["ops"]] == ["matmul", "selu"]
    assert engine.closed
