"""Makes the pictures of the README from real runs on this machine.

    python screenshots/make.py [NAME ...]

The app runs without a terminal but with a real engine; nothing is drawn by hand and no
figure is made up. What the screens say about speed is what this machine did meanwhile.
The moving picture needs Pillow and the DejaVu fonts.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.segment import Segment
from rich.terminal_theme import MONOKAI
from textual.pilot import Pilot

from jaxtui.core.engine.client import EngineClient, EngineOptions
from jaxtui.core.model import Case, Loop
from jaxtui.features.bench.form import CaseForm
from jaxtui.features.timeline.screen import TimelineScreen
from jaxtui.ui.app import themes
from jaxtui.ui.app.app import JaxtuiApp

HERE = Path(__file__).parent
Screen = Pilot[None]
Frame = list[list[Segment]]


async def until(pilot: Screen, holds: Callable[[], bool]) -> None:
    """Let the app go on until something holds."""
    while not holds():
        # A pause of the pilot asks every widget: its share of a core is in the figures.
        await asyncio.sleep(0.25)
    await pilot.pause(0.5)


async def bench(app: JaxtuiApp, pilot: Screen) -> None:
    """Fill the form of Bench, run it to its end, and select the first case."""
    from jaxtui.features.bench.values import Values

    app.show_tab("bench")
    await pilot.pause(0.3)
    dtypes = ("float32", "bfloat16")
    sweep = Values(op="matmul", sizes="64..1024", dtypes=dtypes, budget="14")
    app.query_one(CaseForm).fill(sweep)
    await pilot.pause(0.5)
    await pilot.press("f5")
    await until(pilot, lambda: app.session.state.running)
    await until(pilot, lambda: not app.session.state.running)


async def timeline(app: JaxtuiApp, pilot: Screen) -> None:
    """The loop of a product, refined to its end."""
    case = Case(op="matmul", size=1000, dtype="float32", device="cpu:0", mode="jit")
    app.push_screen(TimelineScreen(Loop(case=case, calls=64)))
    view = app.screen
    assert isinstance(view, TimelineScreen)
    await until(pilot, lambda: view.measured is not None and not app.state.running)


STILLS: dict[str, Callable[[JaxtuiApp, Screen], Awaitable[None]]] = {
    "bench-120x40": bench,
    "timeline-120x40": timeline,
}
MOVING = "first-minute"


async def take(name: str) -> None:
    """Play a still and write its picture."""
    engine = EngineClient(EngineOptions())
    # No terminal slows its redraws down.
    app = JaxtuiApp(engine, fps=1)
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            app.theme = themes.DARK
            await until(pilot, lambda: bool(app.session.state.devices))
            await STILLS[name](app, pilot)
            app.redraw()
            await pilot.pause(0.5)
            picture = app.export_screenshot(title="jaxtui")
            (HERE / f"{name}.svg").write_text(picture, encoding="utf-8")
    finally:
        await engine.close()


LAST_SECONDS = 5.0


async def film() -> None:
    """The first minute: open, see the devices, press Enter, read four lines."""
    engine = EngineClient(EngineOptions())
    app = JaxtuiApp(engine, fps=1)
    frames: list[tuple[float, Frame]] = []

    async def record() -> None:
        while True:
            strips = app.screen._compositor.render_strips()
            frame = [list(strip) for strip in strips]
            if not frames or frames[-1][1] != frame:
                frames.append((time.monotonic(), frame))
            await asyncio.sleep(0.5)

    try:
        async with app.run_test(size=(80, 24)) as pilot:
            app.theme = themes.DARK
            camera = asyncio.create_task(record())
            await until(pilot, lambda: bool(app.session.state.devices))
            await asyncio.sleep(1.5)
            await pilot.press("enter")
            await until(pilot, lambda: app.session.state.running)
            await until(pilot, lambda: not app.session.state.running)
            await asyncio.sleep(0.5)
            camera.cancel()
    finally:
        await engine.close()
    write_gif(HERE / f"{MOVING}.gif", frames)


WIDTH, HEIGHT = 9, 18
QUADRANTS = dict(zip("▖▗▘▙▚▛▜▝▞▟", (4, 8, 1, 13, 9, 7, 11, 2, 6, 14), strict=True))


def write_gif(path: Path, frames: list[tuple[float, Frame]]) -> None:
    """Draw the cells of each frame, which stays until the next one."""
    from PIL import Image, ImageDraw, ImageFont

    def rgb(style: object, name: str) -> tuple[int, int, int]:
        color = getattr(style, name, None)
        return tuple(color.get_truecolor(MONOKAI, name == "color")) if color else None

    fonts = [
        ImageFont.truetype(f"DejaVuSansMono{name}.ttf", 15) for name in ("", "-Bold")
    ]
    pictures = []
    for _, frame in frames:
        image = Image.new("RGB", (80 * WIDTH, 24 * HEIGHT), "#121212")
        draw = ImageDraw.Draw(image)
        for row, segments in enumerate(frame):
            column = 0
            for text, style, _ in segments:
                front = rgb(style, "color") or (224, 224, 224)
                back = rgb(style, "bgcolor") or (18, 18, 18)
                if style and style.reverse:
                    front, back = back, front
                if style and style.dim:
                    front = tuple(
                        (2 * a + b) // 3 for a, b in zip(front, back, strict=True)
                    )
                for character in text:
                    x, y = column * WIDTH, row * HEIGHT
                    draw.rectangle((x, y, x + WIDTH - 1, y + HEIGHT - 1), back)
                    boxes = blocks(character)
                    for left, top, right, bottom in boxes or ():
                        draw.rectangle(
                            (
                                x + round(left * WIDTH),
                                y + round(top * HEIGHT),
                                x + round(right * WIDTH) - 1,
                                y + round(bottom * HEIGHT) - 1,
                            ),
                            front,
                        )
                    if boxes is None and character != " ":
                        font = fonts[bool(style and style.bold)]
                        draw.text((x, y + 14), character, front, font, anchor="ls")
                    column += 1
        pictures.append(image)
    # One palette for all, so that a frame is written as what changed.
    colors, plain = pictures[-1].quantize(48), Image.Dither.NONE
    pictures = [picture.quantize(palette=colors, dither=plain) for picture in pictures]
    moments = [moment for moment, _ in frames]
    seconds = [*(b - a for a, b in itertools.pairwise(moments)), LAST_SECONDS]
    pictures[0].save(
        path,
        save_all=True,
        append_images=pictures[1:],
        duration=[round(1000 * x) for x in seconds],
        loop=0,
        optimize=True,
    )


def blocks(character: str) -> list[tuple[float, float, float, float]] | None:
    """The parts of a cell that a block fills, which fonts draw with gaps."""
    code = ord(character)
    if character in QUADRANTS:
        return [
            (bit % 2 / 2, bit // 2 / 2, bit % 2 / 2 + 0.5, bit // 2 / 2 + 0.5)
            for bit in range(4)
            if QUADRANTS[character] >> bit & 1
        ]
    if character in "▀▐":
        return [(0, 0, 1, 0.5) if character == "▀" else (0.5, 0, 1, 1)]
    if 0x2800 <= code <= 0x28FF:
        places = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
        return [
            (x / 2 + 0.1, y / 4 + 0.06, x / 2 + 0.4, y / 4 + 0.19)
            for bit, (x, y) in enumerate(places)
            if (code - 0x2800) >> bit & 1
        ]
    if 0x2581 <= code <= 0x2588:
        return [(0, 1 - (code - 0x2580) / 8, 1, 1)]
    if 0x2589 <= code <= 0x258F:
        return [(0, 0, (0x2590 - code) / 8, 1)]
    return None


def main() -> None:
    """Take the pictures that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*STILLS, MOVING]
    parser.add_argument("names", nargs="*", choices=[[], *names], metavar="NAME")
    for name in parser.parse_args().names or names:
        asyncio.run(film() if name == MOVING else take(name))


if __name__ == "__main__":
    main()
