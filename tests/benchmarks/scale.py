"""What the tab Devices costs with 8 to 1024 devices: frames and memory.

    python tests/benchmarks/scale.py [DEVICES]…

The app runs without a terminal, on simulated devices. Each
figure is the processor time from a key to the end of the frames that it makes, the
median of several, less that of a key that means nothing, which is what the harness
costs; the bar is 50 ms. Each number of devices has a process of its own.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import time
from statistics import median

from textual.pilot import Pilot

from jaxtui.core.model import Device
from jaxtui.features.links.screen import LinksScreen
from jaxtui.ui.app.app import JaxtuiApp
from jaxtui.ui.widgets.chip_map import ChipMap
from tests.fake_engine import FakeEngine, at_once, cpu_devices
from tests.features.links.linking import answer

COUNTS = (8, 64, 512, 1024)
"""Up to as many as JAX simulates for jaxtui."""

TIMES = 15

BAR_SECONDS = 0.050

NOTHING = "a key that means nothing"


async def frame(pilot: Pilot[None], *keys: str) -> float:
    """Processor seconds that keys cost, all redrawing included."""
    begin = time.process_time()
    await pilot.press(*keys)
    await pilot.pause()
    return time.process_time() - begin


async def frames(pilot: Pilot[None], *keys: str) -> float:
    """The median of several; of two keys the second one undoes the first."""
    taken = [await frame(pilot, key) for _ in range(TIMES) for key in keys]
    return median(taken)


async def measure(devices: tuple[Device, ...]) -> dict[str, float]:
    """Seconds of a frame, by what was done."""
    engine = FakeEngine(devices=devices)
    engine.answer_others(
        lambda work: answer(work) if hasattr(work, "pairs") else at_once(work)
    )
    app = JaxtuiApp(engine, fps=100)
    found: dict[str, float] = {}
    async with app.run_test(size=(120, 40)) as pilot:
        begin = time.process_time()
        while not app.state.devices:
            await pilot.pause()
        await pilot.pause()
        found["devices arrive"] = time.process_time() - begin
        found[NOTHING] = await frames(pilot, "f12")
        found["cursor moves"] = await frames(pilot, "down")
        app.query_one(ChipMap).focus()
        found["cursor moves on the map"] = await frames(pilot, "right", "left")
        if 1 < len(devices) <= 64:  # of more nobody times all pairs
            await pilot.press("l")
            while not isinstance(app.screen, LinksScreen) or app.session.state.busy:
                await pilot.pause()
            found["pair selected"] = await frames(pilot, "down", "up")
            await pilot.press("escape")
    return found


def main() -> None:
    """Measure the numbers of devices that are named, or all."""
    counts = [int(word) for word in sys.argv[1:]] or list(COUNTS)
    if len(counts) > 1:
        for count in counts:
            subprocess.run([sys.executable, __file__, str(count)], check=True)
        return
    devices = cpu_devices(counts[0], simulated=True)
    found = asyncio.run(measure(devices))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(devices)} devices: {used:.0f} MiB at most")
    once = found.pop("devices arrive"), found.pop(NOTHING)
    print(f"  devices arrive           {1e3 * once[0]:6.1f} ms, once")
    for what, seconds in found.items():
        spent = seconds - once[1]
        late = "  above 50 ms" * (spent > BAR_SECONDS)
        print(f"  {what:24} {1e3 * spent:6.1f} ms{late}")


if __name__ == "__main__":
    main()
