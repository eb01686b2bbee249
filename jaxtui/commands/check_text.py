"""A health check as text: how far it is, and what the machine is."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui.commands.progress import bar
from jaxtui.format import plural
from jaxtui.health.examination import Examination
from jaxtui.health.rows import who
from jaxtui.model import CHECK_TESTS, CheckLevel, Device, Finding, Host
from jaxtui.view.devices import explain, finding_text
from jaxtui.view.text import wrap


def progress_line(
    examination: Examination,
    elapsed_seconds: float,
    width: int,
    *,
    ascii_only: bool,
) -> str:
    """How far a check is, never wider than ``width``.

    Args:
        examination: as far as it has come.
        elapsed_seconds: since the command began.
        width: columns.
        ascii_only: draw with ASCII.
    """
    check = examination.check or examination.next_check
    if check is None:
        return ""
    number = CHECK_TESTS.index(check.test)
    drawn = bar(number / len(CHECK_TESTS), ascii_only=ascii_only)
    what = examination.what or "starting"
    line = (
        f"{drawn} {elapsed_seconds:.0f} s  test {number + 1} of {len(CHECK_TESTS)}, "
        f"{check.test}: {what}"
    )
    return line[:width].rstrip()


def heading(
    host: Host | None,
    devices: Sequence[Device],
    tested: Sequence[Device],
    findings: Sequence[Finding],
    compared: str,
    level: CheckLevel,
) -> str:
    """The machine, what is to be known of it, and what will be tested.

    Args:
        host: the machine.
        devices: all that JAX lists.
        tested: those that are tested.
        findings: what else is to be known.
        compared: what the figures are compared with; may be empty.
        level: how thorough.
    """
    facts = [host.hostname, host.cpu_model or "", f"jax {host.jax}"] if host else []
    kinds = dict.fromkeys(one.device_kind for one in devices if one.platform != "cpu")
    facts += kinds
    lines = [" · ".join(fact for fact in facts if fact), explain(devices)]
    for finding in findings:
        lines += finding_text(finding).splitlines()
    lines.append(compared)
    text = [part for line in lines for part in wrap(line)]
    names = who([device.name for device in tested], tested)
    text += [*_elsewhere(devices), f"Check of {names}, level {level}:"]
    return "\n".join(text)


def _elsewhere(devices: Sequence[Device]) -> list[str]:
    """The devices that only other processes can test."""
    theirs = [device for device in devices if not device.addressable]
    if not theirs:
        return []
    processes = sorted({device.process_index for device in theirs})
    where = plural(len(processes), "other process")
    return wrap(
        f"Not tested from here: {plural(len(theirs), 'device')} of {where}; "
        "run `jaxtui check` there, too."
    )
