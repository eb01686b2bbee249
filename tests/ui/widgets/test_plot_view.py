"""The plot widget sends only what changed."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.geometry import Region

from jaxtui.ui.plot import Row
from jaxtui.ui.widgets.plot_view import PlotView


class Recorder(PlotView):
    """Notes what it asks to be repainted."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Region, ...]] = []

    def refresh(self, *regions: Region, **options: object) -> Recorder:
        if hasattr(self, "asked"):
            self.asked.append(regions)
        super().refresh(*regions, **options)  # type: ignore[arg-type]
        return self


class Stage(App[None]):
    def compose(self) -> ComposeResult:
        yield Recorder()


def lines(*texts: str) -> list[Row]:
    return [((text.ljust(20), None),) for text in texts]


async def test_only_what_differs_is_repainted_at_the_size_that_there_is() -> None:
    app = Stage()
    sizes: list[tuple[int, int]] = []

    def draw(width: int, height: int) -> list[Row]:
        sizes.append((width, height))
        return [(("x", None),)]

    async with app.run_test(size=(20, 4)) as pilot:
        view = app.query_one(Recorder)
        view.show(lambda width, height: lines("one", "two", "three", "four"))
        await pilot.pause()
        view.asked.clear()
        for _ in range(2):
            # The second time there is nothing to repaint.
            view.show(
                lambda width, height: lines("one", "TwX", "three", "Four           !")
            )
            near, far = Region(0, 1, 3, 1), (Region(0, 3, 1, 1), Region(15, 3, 1, 1))
            assert view.asked == [(near, *far)]
            assert view.text.splitlines()[1].startswith("TwX")

        view.show(draw)
        await pilot.resize_terminal(30, 6)
        await pilot.pause()
        assert sizes[0] == (20, 4)
        assert sizes[-1] == (30, 6)
        assert view.text.count("\n") == 5
