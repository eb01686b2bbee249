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

from jaxtui.engine.client import EngineClient, EngineOptions
from jaxtui.model import Case, Loop
from jaxtui.tui import themes
from jaxtui.tui.app import JaxtuiApp
from jaxtui.tui.screens.async_view import AsyncView
from jaxtui.tui.widgets.case_form import CaseForm

HERE = Path(__file__).parent
Screen = Pilot[None]


@dataclass(frozen=True)
class Shot:
    """One picture: how large, in which theme, and what is done before it is taken."""

    size: tuple[int, int]
    play: Callable[[JaxtuiApp, Screen], Awaitable[None]]
    theme: str = themes.DARK
    cpu_devices: int | None = None


async def until(pilot: Screen, holds: Callable[[], bool]) -> None:
    """Let the app go on until something holds."""
    while not holds():
        await pilot.pause(0.1)
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
    """The async view of a product, played to its end, then these keys."""

    async def play(app: JaxtuiApp, pilot: Screen) -> None:
        case = Case(op="matmul", size=1000, dtype="float32", device="cpu:0", mode="jit")
        app.open_loop(Loop(case=case, calls=calls))
        await until(pilot, lambda: app.state.loop and app.state.loop.result)
        view = app.screen
        assert isinstance(view, AsyncView)
        await until(pilot, lambda: view.playback is None)
        await pilot.press(*keys)
        await pilot.pause(0.5)

    return play


async def check(app: JaxtuiApp, pilot: Screen) -> None:
    """The health check, to its end."""
    await pilot.press("c")
    await until(pilot, lambda: app.session.state.check.going)
    await until(pilot, lambda: not app.session.state.check.going)


async def lesson(app: JaxtuiApp, pilot: Screen) -> None:
    """The first step of the first lesson, predicted and run."""
    await pilot.press("3")
    await until(pilot, lambda: bool(app.query("LessonList")))
    await pilot.press("enter", "2", "r")
    await until(pilot, lambda: app.session.state.running)
    await until(pilot, lambda: not app.session.state.running)


async def roofline(app: JaxtuiApp, pilot: Screen) -> None:
    """Products of several sizes, and the roofs of the device over them."""
    await bench(**PRODUCTS, budget="12")(app, pilot)
    await pilot.press("f4")
    await until(pilot, lambda: app.session.state.running)
    await until(pilot, lambda: not app.session.state.running)


async def run_form(app: JaxtuiApp, pilot: Screen, values: dict[str, object]) -> None:
    """Show the form, fill it and press Run."""
    from jaxtui.tui.form import Values

    app.action_show_tab("bench")
    await pilot.pause(0.3)
    app.query_one(CaseForm).fill(Values(**values))  # type: ignore[arg-type]
    await pilot.pause(0.5)
    await pilot.press("f5")
    await until(pilot, lambda: app.session.state.running)


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
    "async-120x40": Shot((120, 40), loop(calls=64)),
    "giant-80x24": Shot((80, 24), loop("g", "space"), themes.PROJECTOR),
    "learn-80x24": Shot((80, 24), lesson),
    "light-80x24": Shot((80, 24), first_minute, themes.LIGHT),
}


async def take(name: str, shot: Shot) -> None:
    """Play one shot and write its picture."""
    engine = EngineClient(EngineOptions(cpu_devices=shot.cpu_devices))
    app = JaxtuiApp(engine)
    try:
        async with app.run_test(size=shot.size) as pilot:
            app.theme = shot.theme
            await until(pilot, lambda: bool(app.session.state.devices))
            await shot.play(app, pilot)
            app.redraw()
            await pilot.pause(0.5)
            path = HERE / f"{name}.svg"
            path.write_text(app.export_screenshot(title="jaxtui"), encoding="utf-8")
            print(path)
    finally:
        await engine.close()


def main() -> None:
    """Take the shots that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *SHOTS], metavar="NAME")
    for name in parser.parse_args().names or SHOTS:
        asyncio.run(take(name, SHOTS[name]))


if __name__ == "__main__":
    main()
