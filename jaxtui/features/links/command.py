"""``jaxtui links``: how fast devices copy to each other, and which pairs lag."""

from __future__ import annotations

from jaxtui.core import selection
from jaxtui.core.model import Experiment, SelectionError
from jaxtui.core.state import State
from jaxtui.features.links.judge import choose, why_none
from jaxtui.features.links.messages import experiment
from jaxtui.features.links.report import OUTCOME
from jaxtui.ui.commands import CannotRun
from jaxtui.ui.commands.common import valued
from jaxtui.ui.commands.measures import measures
from jaxtui.ui.commands.options import BUDGET, DEVICE_LIST, Parsed, seed


@measures("links", OUTCOME, "jaxtui links", "jaxtui links --size 1MiB --cpu-devices 8")
@valued(
    "--size",
    "BYTES",
    "Size of the copy that gives bytes/s: 64MiB, 1e6 or 4096.",
    "64MiB",
    type=Parsed("bytes", selection.parse_bytes),
)
@valued("--device", "DEVICES", "cpu:0,cpu:3 or tpu.  [default: all]", type=DEVICE_LIST)
@valued("--budget", "SECONDS", "Time for the rounds.", "10", type=BUDGET)
@seed
def command(
    state: State, *, size: int, device: str | None, budget: float, seed: int
) -> Experiment:
    """Time copies between all pairs of devices.

    The latency is that of 8-byte copies. Each direction counts as a pair; above 16
    devices, jaxtui measures a sample of pairs over all distances.
    """
    names = selection.parse_devices(device or "all", state.devices)
    chosen = [item for item in state.devices if item.name in names]
    pairs = choose(chosen, seed)
    if not pairs:
        why = f"{why_none(names)} `--cpu-devices 8` simulates eight."
        raise CannotRun(why) if device is None else SelectionError(why)
    return experiment(pairs, size, budget, seed)
