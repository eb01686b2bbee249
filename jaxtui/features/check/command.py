"""``jaxtui check``: is this machine all right? A verdict, live, and an exit code."""

from __future__ import annotations

from jaxtui.core.format import how_long
from jaxtui.core.model import CHECK_LEVELS, CheckLevel, Device
from jaxtui.core.model.machine import members
from jaxtui.core.model.remark import SelectionError
from jaxtui.core.selection import parse_devices
from jaxtui.core.state import State
from jaxtui.features.check import baseline as baselines
from jaxtui.features.check.baseline import Baseline
from jaxtui.features.check.exam import begin, longest_seconds
from jaxtui.features.check.report import OUTCOME, place
from jaxtui.ui.commands import CannotRun
from jaxtui.ui.commands.common import valued
from jaxtui.ui.commands.engine import Driver
from jaxtui.ui.commands.measures import measures
from jaxtui.ui.commands.options import DEVICE_LIST, LIMIT, Parsed, one_of


@measures(
    "check",
    OUTCOME,
    "jaxtui check --level full",
    "jaxtui check --json --baseline monday.json",
)
@valued(
    "--level",
    "LEVEL",
    "quick, about twelve seconds, or full, some minutes.",
    "quick",
    type=one_of("level", CHECK_LEVELS),
)
@valued(
    "--device",
    "DEVICES",
    "cpu:0,cpu:3 or tpu.  [default: all]",
    type=DEVICE_LIST,
)
@valued(
    "--limit",
    "SECONDS",
    "Timeout per test: a slower device is reported as not responding.  "
    "[default: a minute or more]",
    type=LIMIT,
)
@valued(
    "--baseline",
    "FILE",
    "Compare with what `jaxtui check --json > FILE` printed.",
    # Fails early: a bad file is refused before the run.
    type=Parsed("file", baselines.load),
)
async def command(
    driver: Driver,
    *,
    level: CheckLevel,
    device: str | None,
    limit: float | None,
    baseline: Baseline | None,
) -> None:
    """Check that every device is present, correct and fast."""
    longest = longest_seconds(level)
    if limit is not None and limit <= longest:
        raise SelectionError(
            f"The limit of {limit:g} s is shorter than the longest test of level"
            f" {level}: give more than {longest:g} seconds."
        )
    session = driver.session
    async with driver.progress(place):
        await session.ready()
        session.refuse("verdicts")
        chosen = _chosen(session.state, device, baseline)
        exam = begin(chosen, level, session.state.ops, baseline, limit)
        seconds = sum(test.budget_seconds for test in exam.waiting)
        driver.announce(f"The checks take about {how_long(seconds)}", seconds)
        await session.play(exam, "check")


def _chosen(
    state: State, devices: str | None, baseline: Baseline | None
) -> tuple[Device, ...]:
    """The devices to test: all of this process, unless some are named.

    Raises:
        SelectionError: if one does not exist, or is another process's.
        CannotRun: if there is none, or the baseline is of other hardware.
    """
    names = parse_devices(devices or "all", state.devices)
    wanted = {member for name in names for member in members(name)}
    chosen = tuple(
        device
        for device in state.devices
        if device.addressable and device.name in wanted
    )
    if not chosen:
        raise CannotRun("JAX has no device that this process can use.")
    if baseline is not None and state.host is not None:
        # The machine counts: a few of its devices may be compared, too.
        differing = baselines.other_hardware(baseline, state.devices, state.host)
        if differing:
            facts = "; ".join(map(str, differing))
            raise CannotRun(f"{baseline.name} comes from other hardware: {facts}.")
    return chosen
