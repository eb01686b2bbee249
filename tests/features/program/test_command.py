"""``jaxtui hlo`` of real programs: what it prints, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxtui.core.model import Device, Event, Inspection, RunFinished
from jaxtui.ui import words
from tests.fake_engine import FakeEngine
from tests.ui.commands.fakes import in_process, run


def hlo(*arguments: str) -> int:
    return run(in_process(), "hlo", *arguments)


def test_the_device_is_the_first_of_this_process(
    capsys: pytest.CaptureFixture[str],
) -> None:
    theirs, ours = (
        Device(
            id=number,
            platform="tpu",
            device_kind="TPU v4",
            process_index=number,
            addressable=number == 1,
        )
        for number in range(2)
    )

    def crashes(work: Inspection) -> list[Event]:
        return [RunFinished(outcome="crashed", elapsed_seconds=1.0)]

    fake = FakeEngine(crashes, devices=(theirs, ours))
    assert run(fake, "hlo", "matmul:8") == 1
    assert [one.case.device for one in fake.works] == ["tpu:1"]
    assert words.LOST in capsys.readouterr().err


def test_a_function_of_a_file_and_a_mistake_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "def f(x, y):\n    return x * 2 + y\n\ndef wrong(x):\n    return x @ x\n"
    )
    assert hlo(f"{path}:f", "--arg", "f32[64]", "--arg", "f32[]") == 0
    printed = capsys.readouterr().out
    assert f"{tmp_path.name}/mine.py:f float32 jit on cpu:0" in printed
    assert "Compiled: 1 kernel" in " ".join(printed.split())
    assert hlo(f"{path}:wrong", "--arg", "f32[2,3]") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("mine.py:5") == 1
    assert "return x @ x" in err
    assert "site-packages" not in err
