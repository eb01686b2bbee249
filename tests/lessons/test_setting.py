from __future__ import annotations

import pytest

from jaxtui.lessons.base import Lesson
from jaxtui.lessons.setting import default_device, setting
from jaxtui.model import Device
from jaxtui.selection import SelectionError

LESSON = Lesson(
    name="clock",
    title="Does it lie?",
    summary="It does.",
    steps=(),
    size_means="n of n×n",
    sizes={"cpu": 1000, "tpu": 8000},
    minimum=10,
    maximum=9000,
)
SIZELESS = Lesson(
    name="devices", title="Which?", summary="All.", steps=(), size_means="", sizes={}
)


def device(platform: str, number: int = 0, *, mine: bool = True) -> Device:
    return Device(
        id=number,
        platform=platform,
        device_kind=platform,
        process_index=0 if mine else 1,
        addressable=mine,
    )


CPU = (device("cpu"), device("cpu", 1))
TPU = (device("tpu", 0, mine=False), device("tpu", 1), device("tpu", 2), CPU[0])


def test_the_default_is_the_first_accelerator_of_this_process() -> None:
    assert default_device(TPU).name == "tpu:1"
    assert default_device(CPU).name == "cpu:0"
    assert default_device((TPU[0], *CPU)).name == "cpu:0"
    with pytest.raises(SelectionError, match="no device"):
        default_device((TPU[0],))


def test_the_size_is_the_platforms_own_unless_given() -> None:
    assert setting(LESSON, CPU, None, ()).size == 1000
    assert setting(LESSON, TPU, None, ()).size == 8000
    assert setting(LESSON, TPU, None, (), device="cpu:0").size == 1000
    assert setting(LESSON, CPU, None, (), 10).size == 10
    assert setting(LESSON, CPU, None, (), 9000).size == 9000
    assert setting(SIZELESS, CPU, None, ()).size == SIZELESS.minimum


def test_a_device_is_named_alone() -> None:
    assert setting(LESSON, TPU, None, (), device="tpu:2").device == "tpu:2"
    with pytest.raises(SelectionError, match="one device"):
        setting(LESSON, TPU, None, (), device="tpu")
    with pytest.raises(SelectionError, match="gpu"):
        setting(LESSON, TPU, None, (), device="gpu:0")


@pytest.mark.parametrize("size", [9, 9001])
def test_a_size_out_of_range_is_refused_in_one_sentence(size: int) -> None:
    with pytest.raises(SelectionError) as caught:
        setting(LESSON, CPU, None, (), size)
    sentence = str(caught.value)
    assert f"The size {size} " in sentence
    assert "10 to 9000" in sentence
    assert sentence.count("\n") == 0


def test_a_lesson_without_a_size_takes_none() -> None:
    with pytest.raises(SelectionError, match="leave 5 out"):
        setting(SIZELESS, CPU, None, (), 5)
