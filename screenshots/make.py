"""Makes every screenshot of the README from a real run on this machine.

    python screenshots/make.py [NAME ...]

The app runs without a terminal but with a real engine; nothing is drawn by hand and no
figure is made up. What the screens say about speed is what this machine did meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from textual.pilot import Pilot

from jaxtui.core.engine.client import EngineClient, EngineOptions
from jaxtui.core.model import Case, Loop
from jaxtui.features.bench.form import CaseForm
from jaxtui.features.timeline.classroom import Classroom
from jaxtui.features.timeline.screen import TimelineScreen
from jaxtui.ui.app import themes
from jaxtui.ui.app.app import JaxtuiApp

HERE = Path(__file__).parent
Screen = Pilot[None]


@dataclass(frozen=True)
class Shot:
    """One picture: how large, in which theme, and what is done before it is taken."""

    size: tuple[int, int]
    play: Callable[[JaxtuiApp, Screen], Awaitable[None]]
    theme: str = themes.DARK
    cpu_devices: int | None = None
    frames: int = 1
    """More than one: what the playback of the timeline shows, as one moving picture."""


async def until(pilot: Screen, holds: Callable[[], bool]) -> None:
    """Let the app go on until something holds."""
    while not holds():
        # A pause of the pilot asks every widget: its share of a core is in the figures.
        await asyncio.sleep(0.25)
    await pilot.pause(0.5)


async def first_minute(app: JaxtuiApp, pilot: Screen) -> None:
    """Open, Enter, and wait for the four lines."""
    await pilot.press("enter")
    await until(pilot, lambda: app.session.state.running)
    await until(pilot, lambda: not app.session.state.running)


async def devices(app: JaxtuiApp, pilot: Screen) -> None:
    """Just look at what is there, with one of several devices selected."""
    await pilot.press("down", "down")


def bench(**values: object) -> Callable[[JaxtuiApp, Screen], Awaitable[None]]:
    """Fill the form, run it to its end, and select the first case."""

    async def play(app: JaxtuiApp, pilot: Screen) -> None:
        await run_form(app, pilot, values)
        await until(pilot, lambda: not app.session.state.running)

    return play


def live(**values: object) -> Callable[[JaxtuiApp, Screen], Awaitable[None]]:
    """The same, taken while the samples of a single case arrive."""

    async def play(app: JaxtuiApp, pilot: Screen) -> None:
        await run_form(app, pilot, values)

        def sampled() -> bool:
            state = app.session.state
            measured = state.case.measurement if state.case else None
            enough = measured is not None and measured.ready is not None
            return not state.running or (enough and measured.ready.n > 60)

        await until(pilot, sampled)

    return play


def loop(*keys: str, calls: int = 20) -> Callable[[JaxtuiApp, Screen], Awaitable[None]]:
    """The timeline of a product, refined to its end, then these keys."""

    async def play(app: JaxtuiApp, pilot: Screen) -> None:
        case = Case(op="matmul", size=1000, dtype="float32", device="cpu:0", mode="jit")
        app.push_screen(TimelineScreen(Loop(case=case, calls=calls)))
        view = app.screen
        assert isinstance(view, TimelineScreen)
        await until(pilot, lambda: view.measured is not None and not app.state.running)
        await pilot.press(*keys)
        await pilot.pause(0.5)

    return play


async def classroom(app: JaxtuiApp, pilot: Screen) -> None:
    """The class view at the factor, after a bet."""
    app.open_classroom()
    room = app.screen
    assert isinstance(room, Classroom)
    await until(pilot, lambda: room.why_not("next") is None)
    await pilot.press("space", "right", "right", "space", "space", "space")
    await pilot.pause(0.5)


async def check(app: JaxtuiApp, pilot: Screen) -> None:
    """The health check, to its end."""
    await pilot.press("c")
    await until(pilot, lambda: app.session.state.playing == "check")
    await until(pilot, lambda: not app.session.state.busy)


async def lesson(app: JaxtuiApp, pilot: Screen) -> None:
    """The first step of the first lesson, predicted and run."""
    await pilot.press("3")
    await until(pilot, lambda: bool(app.query("LearnPane")))
    await pilot.press("enter", "c", "r")
    await until(pilot, lambda: app.session.state.running)
    await until(pilot, lambda: not app.session.state.running)


async def roofline(app: JaxtuiApp, pilot: Screen) -> None:
    """Products of several sizes, and the roofs of the device over them."""
    await bench(**PRODUCTS, budget="12")(app, pilot)
    await pilot.press("z")
    await until(pilot, lambda: app.session.state.running)
    await until(pilot, lambda: not app.session.state.running)


async def run_form(app: JaxtuiApp, pilot: Screen, values: dict[str, object]) -> None:
    """Show the form, fill it and press Run."""
    from jaxtui.features.bench.values import Values

    app.show_tab("bench")
    await pilot.pause(0.3)
    app.query_one(CaseForm).fill(Values(**values))  # type: ignore[arg-type]
    await pilot.pause(0.5)
    await pilot.press("f5")
    await until(pilot, lambda: app.session.state.running)


FRAME_SECONDS = 0.4

LAST_FRAMES = 6
"""For so many the last one stays."""

SWEEP = {"op": "matmul", "sizes": "64..1024", "dtypes": ("float32", "bfloat16")}
MODES = {"op": "selu", "sizes": "1e2,1e3,1e4,1e5,1e6,1e7"}
PRODUCTS = {"op": "matmul", "sizes": "64,256,1024,2048"}
SINGLE = {"op": "matmul", "sizes": "1000", "modes": ("jit",), "budget": "6"}

SHOTS = {
    "bench-120x40": Shot((120, 40), bench(**SWEEP, budget="14")),
    "sweep-120x40": Shot(
        (120, 40), bench(**MODES, modes=("numpy", "eager", "jit"), budget="24")
    ),
    "roofline-120x40": Shot((120, 40), roofline),
    "first-minute-80x24": Shot((80, 24), first_minute),
    "live-120x40": Shot((120, 40), live(**SINGLE)),
    "bench-80x24": Shot((80, 24), bench(op="selu", sizes="1e3,1e4,1e5,1e6")),
    "devices-120x40": Shot((120, 40), devices, cpu_devices=8),
    "check-120x40": Shot((120, 40), check, cpu_devices=8),
    "projector-120x40": Shot((120, 40), live(**SINGLE), themes.PROJECTOR),
    "timeline-120x40": Shot((120, 40), loop(calls=64)),
    "playback-80x24": Shot((80, 24), loop("space"), frames=11),
    "class-120x40": Shot((120, 40), classroom),
    "learn-80x24": Shot((80, 24), lesson),
    "light-80x24": Shot((80, 24), first_minute, themes.LIGHT),
}


async def take(name: str, shot: Shot) -> None:
    """Play one shot and write its picture."""
    engine = EngineClient(EngineOptions(cpu_devices=shot.cpu_devices))
    # No terminal slows its redraws down.
    app = JaxtuiApp(engine, fps=1 if shot.frames == 1 else None)
    try:
        async with app.run_test(size=shot.size) as pilot:
            app.theme = shot.theme
            await until(pilot, lambda: bool(app.session.state.devices))
            await shot.play(app, pilot)
            app.redraw()
            await pilot.pause(0.5)
            pictures = []
            for _ in range(shot.frames):
                pictures.append(app.export_screenshot(title="jaxtui"))
                await pilot.pause(FRAME_SECONDS)
            path = HERE / f"{name}.svg"
            path.write_text(moving(pictures), encoding="utf-8")
            print(path)
    finally:
        await engine.close()


def moving(pictures: list[str]) -> str:
    """Pictures one after the other, the last one for longer."""
    if len(pictures) == 1:
        return pictures[0]
    count = len(pictures) + LAST_FRAMES
    head = pictures[0][: pictures[0].index(">") + 1]
    parts = []
    for index, picture in enumerate(pictures):
        end = 1.0 if picture is pictures[-1] else (index + 1) / count
        times = f"0;{index / count:.4f};{end:.4f}"
        parts.append(
            f'<g visibility="hidden"><animate attributeName="visibility" '
            f'values="hidden;visible;hidden" keyTimes="{times}" calcMode="discrete" '
            f'dur="{count * FRAME_SECONDS:.1f}s" repeatCount="indefinite"/>'
            f"{picture}</g>"
        )
    return "\n".join([head, *parts, "</svg>"])


def main() -> None:
    """Take the shots that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *SHOTS], metavar="NAME")
    for name in parser.parse_args().names or SHOTS:
        asyncio.run(take(name, SHOTS[name]))


if __name__ == "__main__":
    main()
