"""``jaxtui`` as a program: what is read first, and what opens the app."""

from __future__ import annotations

import asyncio
import io
import signal
from collections.abc import Iterator

import pytest

from jaxtui import __main__ as program
from jaxtui import __version__
from jaxtui.core.engine.process import EngineOptions, EngineProcess
from jaxtui.core.signals import Interrupt
from jaxtui.ui.commands import app
from jaxtui.ui.commands.common import Common


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The engines that were started."""
    engines: list[object] = []
    monkeypatch.setattr(EngineProcess, "spawn", engines.append)
    monkeypatch.delenv("JAXTUI_START_LIMIT", raising=False)
    return engines


@pytest.fixture(autouse=True)
def _ctrl_c_ends_the_tests_as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str, deaf: str = "") -> int:
    """The exit code on a terminal, but for the stream that is none."""
    for name in ("stdin", "stderr"):
        stream = io.StringIO() if name == deaf else Terminal()
        monkeypatch.setattr(f"sys.{name}", stream)
    monkeypatch.setattr("sys.argv", ["jaxtui", *arguments])
    return program.main()


def test_what_was_typed_is_read_before_anything_is_started(
    spawned: list[object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, "--no-such-option") == 64
    with monkeypatch.context() as patch:
        patch.setenv("JAXTUI_START_LIMIT", "inf")
        assert run(patch, "devices") == 64
    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"jaxtui {__version__}\n"
    for deaf in ("stdin", "stderr"):  # the app needs a terminal
        assert run(monkeypatch, deaf=deaf) == 3
    monkeypatch.setenv("_JAXTUI_COMPLETE", "bash_source")
    with pytest.raises(SystemExit):
        run(monkeypatch)
    assert spawned == []


@pytest.mark.parametrize(
    ("ending", "code"),
    [(143, 143), (KeyboardInterrupt(), 130), (ValueError("planted"), 70)],
)
def test_the_app_has_the_options_and_its_ending_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, ending: int | BaseException, code: int
) -> None:
    opened: list[object] = []

    def opens(common: Common, **options: object) -> int:
        opened.append((common, options))
        if isinstance(ending, BaseException):
            raise ending
        return ending

    monkeypatch.setattr(app, "run", opens)
    monkeypatch.setenv("JAXTUI_START_LIMIT", "7")
    assert run(monkeypatch, "--hold", "--no-history", "--fps", "2") == code
    asked = Common(start_limit=7.0, record=False)
    assert opened == [(asked, {"hold": True, "fps": 2.0})]


@pytest.mark.parametrize(
    ("arguments", "limit"), [((), None), ((), "7"), (("--cpu-devices", "2"), None)]
)
def test_the_app_has_one_engine_whenever_that_was_started(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], limit: str | None
) -> None:
    started: list[tuple[dict[str, object], object]] = []
    opened: list[tuple[dict[str, object], object]] = []

    def spawn(options: EngineOptions) -> object:
        started.append(({**vars(options)}, object()))
        return started[-1][1]

    def run_app(options: EngineOptions, process: object, **rest: object) -> int:
        opened.append(({**vars(options)}, process))
        return 0

    monkeypatch.setattr(EngineProcess, "spawn", spawn)
    monkeypatch.setattr("jaxtui.ui.app.run.run_app", run_app)
    monkeypatch.delenv("JAXTUI_START_LIMIT", raising=False)
    if limit:
        monkeypatch.setenv("JAXTUI_START_LIMIT", limit)
    assert run(monkeypatch, *arguments) == 0
    assert opened == started  # with the same options, parsed or not
    assert len(started) == 1


async def test_a_signal_of_an_earlier_block_ends_nothing_later() -> None:
    told: list[bool] = []
    interrupt = Interrupt()
    with interrupt.handled():
        interrupt.notify(told.append)
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)
    assert told == [False]
    assert interrupt.happened
    interrupt.notify(told.append)
    assert told == [False]
