"""``jaxtui`` as a program: what is opened at once, and what is read first."""

from __future__ import annotations

import asyncio
import io
import signal

import pytest

from jaxtui import __main__ as program
from jaxtui import cli
from jaxtui.commands import app, launch
from jaxtui.signals import Interrupt


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The engines that were started."""
    engines: list[object] = []

    def spawn(options: object) -> object:
        engines.append(options)
        return engines

    monkeypatch.setattr(launch.EngineProcess, "spawn", spawn)
    for name in launch.FOR_CLICK:
        monkeypatch.delenv(name, raising=False)
    return engines


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str, deaf: str = "") -> int:
    """The exit code on a terminal, but for the stream that is none."""
    for name in ("stdin", "stderr"):
        stream = io.StringIO() if name == deaf else Terminal()
        monkeypatch.setattr(f"sys.{name}", stream)
    monkeypatch.setattr("sys.argv", ["jaxtui", *arguments])
    return program.main()


def test_without_arguments_the_app_opens_on_an_engine_that_was_started(
    spawned: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[object] = []
    monkeypatch.setattr(app, "open_on", lambda process: taken.append(process) or 143)
    assert run(monkeypatch) == 143
    assert taken == [spawned]
    assert len(spawned) == 1


def test_what_was_typed_is_read_before_anything_is_started(
    spawned: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, "--no-such-option") == 64
    assert run(monkeypatch, "--version") == 0
    assert spawned == []


@pytest.mark.parametrize("deaf", ["stdin", "stderr"])
def test_without_a_terminal_nothing_is_started(
    spawned: list[object], monkeypatch: pytest.MonkeyPatch, deaf: str
) -> None:
    assert run(monkeypatch, deaf=deaf) == 3
    assert spawned == []


def test_a_shell_that_completes_what_is_typed_starts_nothing(
    spawned: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "open_on", pytest.fail)
    monkeypatch.setenv("_JAXTUI_COMPLETE", "bash_source")
    with pytest.raises(SystemExit):
        run(monkeypatch)
    assert spawned == []


def test_a_limit_from_the_environment_is_not_passed_over(
    spawned: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[object] = []

    def run_app(*_: object, start_limit: float | None, **__: object) -> int:
        limits.append(start_limit)
        return 0

    monkeypatch.setattr(app, "open_on", pytest.fail)
    monkeypatch.setattr(app, "run", run_app)
    monkeypatch.setenv("JAXTUI_START_LIMIT", "7")
    assert run(monkeypatch) == 0
    assert limits == [7.0]


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), cli.INTERRUPTED), (ValueError("planted"), cli.INTERNAL)],
)
def test_the_app_that_breaks_off_has_its_exit_code(
    spawned: list[object],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
) -> None:
    def broken(process: object) -> int:
        raise error

    monkeypatch.setattr(app, "open_on", broken)
    assert run(monkeypatch) == code


async def test_a_signal_of_an_earlier_block_ends_nothing_later() -> None:
    told: list[bool] = []
    interrupt = Interrupt()
    with interrupt.heeded():
        interrupt.tell(told.append)
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)
    assert told == [False]
    assert interrupt.happened
    interrupt.tell(told.append)
    assert told == [False]
