"""Commands as processes of their own, watched while they run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jaxtui import cli

LIMIT_SECONDS = 120.0
"""For anything to happen, on a machine that may be busy."""

PROGRAM = (sys.executable, "-m", "jaxtui")

NEVER_READY = "#!/bin/sh\necho $$ > {started}\nexec sleep 1000\n"
"""A Python for ``--python`` whose engine says nothing."""


def ended(data: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A command that needs no process of its own, with its data in a folder."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAXTUI_DATA", str(data))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main([*map(os.fsdecode, map(_text, arguments))])
    texts = []
    for stream in (out, err):
        stream.seek(0)
        texts.append(stream.read())
    return subprocess.CompletedProcess(arguments, code, *texts)


def _text(argument: object) -> str | bytes:
    return argument if isinstance(argument, bytes) else str(argument)


class Running:
    """A command whose stderr is a terminal, so that it says how far it is."""

    def __init__(self, *arguments: str, **options: Any) -> None:
        self._terminal, end = os.openpty()
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options}
        self.process = subprocess.Popen([*PROGRAM, *arguments], stderr=end, **options)
        os.close(end)
        self.said = ""

    def until(self, seen: str | Callable[[], object]) -> None:
        """Wait for a text on stderr, or for anything else."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not (seen in self.said if isinstance(seen, str) else seen()):
            going_on = self._listen(0.02) or self.process.poll() is None
            self._expect(going_on and time.monotonic() < deadline, f"{seen} never came")

    def signal(self, *numbers: int) -> None:
        for number in numbers:
            self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the terminal, and tell the process as the kernel would."""
        os.close(self._terminal)
        self.process.send_signal(signal.SIGHUP)

    def ended(self) -> tuple[int, str]:
        """The exit code and what is on stdout."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while self._listen(1.0):
            self._expect(time.monotonic() < deadline, "it does not end")
        out, _ = self.process.communicate(timeout=LIMIT_SECONDS)
        os.close(self._terminal)
        return self.process.returncode, (out or b"").decode()

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.process.kill()
        assert holds, f"{otherwise}: {self.said[-2000:]}"

    def _listen(self, seconds: float) -> bool:
        """Whether stderr is still open; takes in what is there."""
        if select.select([self._terminal], [], [], seconds)[0]:
            with contextlib.suppress(OSError):
                data = os.read(self._terminal, 1 << 16)
                self.said += data.decode(errors="replace")
                return bool(data)
            return False
        return True


def never_ready(folder: Path) -> tuple[str, Path]:
    """A command for ``--python``, and the file that gets its pid when it is started."""
    script, started = folder / "python", folder / "started"
    script.write_text(NEVER_READY.format(started=started))
    script.chmod(0o755)
    return str(script), started


def documents(text: str) -> list[Any]:
    """Every JSON document of a text that holds nothing else."""
    found, rest = [], text.lstrip()
    while rest:
        document, end = json.JSONDecoder().raw_decode(rest)
        found.append(document)
        rest = rest[end:].lstrip()
    return found
