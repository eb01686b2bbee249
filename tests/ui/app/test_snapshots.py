"""Three pictures of screens, one in each theme; what they mean is asserted elsewhere.

After a deliberate change: ``pytest tests/ui/app/test_snapshots.py --snapshot-update``.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from jaxtui.features.devices.load_panel import LoadPanel
from jaxtui.ui.app import themes
from tests.fake_engine import FakeEngine, tpu_devices
from tests.ui.app.driving import app_on, until, until_ready

NARROW, WIDE = (80, 24), (120, 40)


@pytest.mark.parametrize(
    ("size", "theme", "keys"),
    [
        pytest.param(NARROW, themes.DARK, ("enter",), id="first-minute-80x24"),
        pytest.param(NARROW, themes.PROJECTOR, ("2", "r"), id="bench-80x24"),
        pytest.param(WIDE, themes.LIGHT, ("c",), id="check-120x40"),
    ],
)
def test_screen(
    size: tuple[int, int],
    theme: str,
    keys: tuple[str, ...],
    snap_compare: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The load of this machine is another one each time.
    monkeypatch.setattr(LoadPanel, "read", lambda panel: None)
    app = app_on(FakeEngine(devices=tpu_devices()), clock=lambda: 0.0)

    async def drive(pilot: Pilot[None]) -> None:
        app.theme = theme
        await until_ready(pilot, app)
        await pilot.press(*keys)
        await until(pilot, lambda: app.state.run or app.state.series)
        await until(pilot, lambda: not app.state.busy)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=drive)
