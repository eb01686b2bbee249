"""Does watching change the number?

    python tests/benchmarks/observer.py [--pairs 30]

The app runs on a real pty of 120×40 with one engine and one long run. Its live plot is
switched on and off in turn, and a control of the same length compares off with off; in
random order. The sign-test intervals of the ratios of p50 and of p99 must contain 1;
the control shows how wide they are without a difference. As a counter-example, the same
plot is drawn at the same pace inside the process that times, and that must be seen.

Also printed: bytes per second to the terminal and the share of a core that the app used
in a longer stretch with the plot on, because the first redraw after a switch need not
wait for its turn; at most 20 KB/s and 10 %.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import random
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sign_test import sign_test_interval

from jaxtui.core.model.measurement import Interval
from jaxtui.core.stats import quantile

COLUMNS, LINES = 120, 40
WINDOW_SECONDS = 1.3
SETTLE_SECONDS = 0.4
"""A turn that began before the switch may end this long after it."""
FRAMES_PER_SECOND = 4.0
LIVE_SECONDS = 12.0
"""The stretch over which bytes and CPU are counted."""
BYTES_AT_MOST = 20_000
CPU_AT_MOST = 0.10
QUANTILES = (0.5, 0.99)


class Window(NamedTuple):
    """One stretch of time with the plot on or off."""

    pair: int
    control: bool
    first: bool
    """The numerator of its pair."""
    drawn: bool


def windows(pairs: int) -> list[Window]:
    """Each pair and its control, the four of them in random order."""
    order = random.Random(0)
    planned = []
    for pair in range(pairs):
        four = [
            Window(pair, control=False, first=True, drawn=True),
            Window(pair, control=False, first=False, drawn=False),
            Window(pair, control=True, first=True, drawn=False),
            Window(pair, control=True, first=False, drawn=False),
        ]
        order.shuffle(four)
        planned += four
    return planned


def ratios(
    taken: Sequence[tuple[Window, Sequence[float]]], q: float, *, control: bool
) -> Interval:
    """The interval of first over second, pair by pair, of one quantile."""
    by_pair: dict[int, dict[bool, float]] = {}
    for window, ready in taken:
        if window.control == control and len(ready) >= 20:
            value = quantile(sorted(ready), q)
            by_pair.setdefault(window.pair, {})[window.first] = value
    return sign_test_interval(
        [both[True] / both[False] for both in by_pair.values() if len(both) == 2]
    )


def judge(name: str, taken: Sequence[tuple[Window, Sequence[float]]]) -> bool:
    """Print both quantiles beside their control; true if no interval excludes 1."""
    same = True
    for q in QUANTILES:
        measured = ratios(taken, q, control=False)
        control = ratios(taken, q, control=True)
        agrees = measured.low <= 1 <= measured.high
        same = same and agrees
        print(
            f"{name:<26} p{q * 100:<3.0f} on/off {measured.median:.3f}"
            f" [{measured.low:.3f}, {measured.high:.3f}]   off/off {control.median:.3f}"
            f" [{control.low:.3f}, {control.high:.3f}]  "
            f" {'no difference' if agrees else 'DIFFERENT'}"
        )
    return same


# The app, in a process of its own on the pty.


def child(plan: Sequence[Window], report: Path) -> None:
    """Run the app; switch its plot as planned; write what each window saw."""
    from jaxtui.core.engine.client import EngineClient, EngineOptions
    from jaxtui.core.engine.protocol import Envelope
    from jaxtui.core.model import Case, Experiment, Ready, Sampled
    from jaxtui.ui.app.app import JaxtuiApp

    class Tapped(EngineClient):
        """The client, noting when samples arrive."""

        def __init__(self) -> None:
            super().__init__(EngineOptions())
            self.seen: list[tuple[float, list[float]]] = []
            self.ready = threading.Event()

        async def events(self) -> AsyncIterator[Envelope]:
            async for envelope in super().events():
                if isinstance(envelope.event, Sampled):
                    self.seen.append((time.monotonic(), list(envelope.event.ready)))
                elif isinstance(envelope.event, Ready):
                    self.ready.set()
                yield envelope

    engine = Tapped()

    class Switched(JaxtuiApp):
        """The app, whose redraws of live data can be switched off."""

        drawing = False

        def _publish(self) -> None:
            if self.drawing:
                super()._publish()

        def on_mount(self) -> None:
            # Textual calls the handler of the base class by itself.
            self.run_worker(self.conduct())

        async def conduct(self) -> None:
            import asyncio

            while not engine.ready.is_set():
                await asyncio.sleep(0.05)
            case = Case(
                op="matmul", size=512, dtype="float32", device="cpu:0", mode="jit"
            )
            seconds = len(plan) * WINDOW_SECONDS + LIVE_SECONDS + 30
            self.show_tab("bench")
            experiment = Experiment(
                cases=(case,), budget_seconds=seconds, target_half_width=0
            )
            run = asyncio.create_task(self.session.run(experiment))
            while not engine.seen:
                await asyncio.sleep(0.05)
            rows = []
            for window in plan:
                self.drawing = window.drawn
                begin = time.monotonic()
                await asyncio.sleep(WINDOW_SECONDS)
                end = time.monotonic()
                ready = [
                    value
                    for at, values in engine.seen
                    if begin + SETTLE_SECONDS <= at <= end
                    for value in values
                ]
                rows.append((window, ready))
            self.drawing = True
            await asyncio.sleep(WINDOW_SECONDS)
            begin, cpu = time.monotonic(), time.process_time()
            written = self.pacer.written
            await asyncio.sleep(LIVE_SECONDS)
            lasted = time.monotonic() - begin
            live = {
                "cpu": (time.process_time() - cpu) / lasted,
                "bytes": (self.pacer.written - written) / lasted,
            }
            report.write_text(json.dumps({"rows": rows, "live": live}))
            await self.session.stop()
            await run
            self.exit()

    app = Switched(engine, fps=FRAMES_PER_SECOND)
    app.run()
    if app.crash is not None:
        raise app.crash


def watch(pairs: int) -> dict[str, Any]:
    """Run the app on a pty and return what it reported."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        leader, follower = pty.openpty()
        fcntl.ioctl(
            follower, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0)
        )
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "JAX_PLATFORMS": "cpu",
        }
        process = subprocess.Popen(
            [sys.executable, __file__, "--child", str(report), "--pairs", str(pairs)],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=environment,
            start_new_session=True,
        )
        os.close(follower)
        tail = b""
        try:
            while True:
                tail = (tail + os.read(leader, 65536))[-4000:]
        except OSError:
            pass  # the other end is closed
        os.close(leader)
        if process.wait() or not report.exists():
            sys.exit(f"the app ended with {process.returncode}: {tail[-2000:]!r}")
        figures: dict[str, Any] = json.loads(report.read_text())
        return figures


# The counter-example: the plot in the timing process.


def in_process(plan: Sequence[Window]) -> list[tuple[Window, list[float]]]:
    """Time in a thread while this one draws the same plot at the same pace."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import numpy as np

    from jaxtui.tasks import waiting
    from jaxtui.timing import clocks
    from jaxtui.ui.plot import Axis, Picture, Series

    x = jax.device_put(np.random.default_rng(0).standard_normal((512, 512), np.float32))
    call = jax.jit(lambda x: x @ x).lower(x).compile()
    clocks.calls(call, (x,), waiting.wait_for_array, 0.5)
    points = clocks.calls(call, (x,), waiting.wait_for_array, 0.5, least=400)

    def frame() -> None:
        count = range(len(points.ready))
        series = (
            Series("ready", count, points.ready),
            Series("dispatch", count, points.dispatch),
        )
        Picture(series, y=Axis(log=True)).draw(80, 24)

    frame()
    return [
        (window, _timed_beside(window, call, x, frame, clocks, waiting.wait_for_array))
        for window in plan
    ]


def _timed_beside(
    window: Window, call: Any, x: Any, frame: Callable[[], None], clocks: Any, wait: Any
) -> list[float]:
    taken: list[float] = []
    thread = threading.Thread(
        target=lambda: taken.extend(
            clocks.calls(call, (x,), wait, WINDOW_SECONDS - SETTLE_SECONDS).ready
        )
    )
    thread.start()
    while thread.is_alive():
        if window.drawn:
            frame()
        thread.join(1 / FRAMES_PER_SECOND)
    return taken


def main() -> int:
    """Print the comparison; 1 if a promise is broken or the counter-example passes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    plan = windows(asked.pairs)
    if asked.child:
        child(plan, asked.child)
        return 0
    print(f"matmul 512 float32 jit, {asked.pairs} pairs, {COLUMNS}×{LINES}")
    found = watch(asked.pairs)
    good = judge("in the app", [(Window(*row[0]), row[1]) for row in found["rows"]])
    bytes_, cpu = found["live"]["bytes"], found["live"]["cpu"]
    print(
        f"to the terminal: {bytes_ / 1000:.1f} KB/s (at most {BYTES_AT_MOST / 1000:g})"
    )
    print(f"CPU of the app: {cpu:.1%} of a core (at most 10 %)")
    blind = judge("drawn in the timing process", in_process(plan))
    print("the counter-example is", "NOT seen" if blind else "seen")
    kept = good and bytes_ <= BYTES_AT_MOST and cpu <= CPU_AT_MOST
    return int(not kept or blind)


if __name__ == "__main__":
    sys.exit(main())
