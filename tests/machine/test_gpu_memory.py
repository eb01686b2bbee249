from __future__ import annotations

import subprocess
import sys

from jaxtui.machine.gpu_memory import GpuMemory, Question, of_amd, parsed
from jaxtui.machine.pci import Chip, chips

GIBIBYTE = 2**30


def test_the_rows_of_nvidia_smi_are_read():
    said = "0, 61440, 81920\n1, 4, 81920\n2, [N/A], [N/A]\nNo devices were found\n"
    assert tuple(parsed(said)) == (
        GpuMemory("GPU 0", 60 * GIBIBYTE, 80 * GIBIBYTE, "`nvidia-smi`"),
        GpuMemory("GPU 1", 4 * 2**20, 80 * GIBIBYTE, "`nvidia-smi`"),
    )


def test_a_program_answers_in_the_background(tmp_path):
    question = Question((), tmp_path, (sys.executable, "-c", "print('3, 1, 2')"))
    assert [card.name for card in question.answer(30)] == ["GPU 3"]
    assert question.answer(30) == ()


def test_a_program_that_hangs_is_ended(tmp_path):
    code = "import sys; sys.stdin = None; import time; time.sleep(3600)"
    question = Question((), tmp_path, (sys.executable, "-c", code))
    process = question._process
    assert isinstance(process, subprocess.Popen)
    assert question.answer(0.01) == ()
    assert process.wait(180) != 0


def test_where_there_is_no_such_program_nothing_is_known(tmp_path):
    assert Question((), tmp_path, ("/nonexistent/nvidia-smi",)).answer(30) == ()
    assert Question((), tmp_path, None).answer(30) == ()


def test_the_driver_of_amd_tells_by_files(machine):
    machine.chip(
        "0x1002",
        "0x74a1",
        **{
            "class": "0x120000",
            "mem_info_vram_used": str(100 * GIBIBYTE),
            "mem_info_vram_total": str(192 * GIBIBYTE),
        },
    )
    machine.chip("0x1002", "0x74a1", **{"class": "0x120000"})
    sys_folder = machine.root / "sys"
    (card,) = of_amd(chips(sys_folder), sys_folder)
    assert (card.name, card.used_bytes) == ("GPU 0", 100 * GIBIBYTE)
    assert card.total_bytes == 192 * GIBIBYTE
    others = (Chip("0000:00:01.0", "tpu", "TPU v4"),)
    assert Question(others, sys_folder, None).answer(0) == ()
