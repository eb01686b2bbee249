"""The machine and the size on which a lesson is run."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.lessons.base import Lesson, Setting
from jaxtui.model import Device, Host, Measurement, OpInfo
from jaxtui.selection import SelectionError, first_device, parse_devices


def default_device(devices: Sequence[Device]) -> Device:
    """The first accelerator that this process can address, or else the first CPU.

    Raises:
        SelectionError: if there is no device at all.
    """
    accelerators = [device for device in devices if device.platform != "cpu"]
    mine = [device for device in accelerators if device.addressable]
    return mine[0] if mine else first_device(devices)


def setting(
    lesson: Lesson,
    devices: Sequence[Device],
    host: Host | None,
    ops: Sequence[OpInfo],
    size: int | None = None,
    device: str | None = None,
    *,
    ghosts: Sequence[Measurement] = (),
    ghost_label: str = "",
) -> Setting:
    """Where a lesson is run, checked.

    Args:
        lesson: which one.
        devices: all that JAX sees.
        host: the machine.
        ops: the catalogue.
        size: the lesson's size parameter; ``None`` is its default here.
        device: by name; ``None`` is ``default_device``.
        ghosts: what another machine measured.
        ghost_label: which machine that was.

    Raises:
        SelectionError: if the lesson has no such size, or there is no such device.
    """
    chosen = default_device(devices).name if device is None else _one(device, devices)
    return Setting(
        size=_size(lesson, size, chosen.partition(":")[0]),
        device=chosen,
        devices=tuple(devices),
        host=host,
        ops=tuple(ops),
        ghosts=tuple(ghosts),
        ghost_label=ghost_label,
    )


def check_size(lesson: Lesson, size: int) -> None:
    """Whether a lesson can be run with this size.

    Raises:
        SelectionError: if it cannot.
    """
    if not lesson.size_means:
        raise SelectionError(
            f"The lesson {lesson.name} has no size to set: leave {size} out."
        )
    if not lesson.minimum <= size <= lesson.maximum:
        raise SelectionError(
            f"The size {size} does not fit the lesson {lesson.name}: it takes "
            f"{lesson.minimum} to {lesson.maximum} ({lesson.size_means})."
        )


def _one(text: str, devices: Sequence[Device]) -> str:
    names = parse_devices(text, devices)
    if len(names) > 1:
        raise SelectionError(
            f'A lesson is about one device, and "{text}" names {len(names)}: '
            f"choose one out of {', '.join(names)}."
        )
    return names[0]


def _size(lesson: Lesson, size: int | None, platform: str) -> int:
    if size is None:
        return lesson.size(platform) if lesson.sizes else lesson.minimum
    check_size(lesson, size)
    return size
