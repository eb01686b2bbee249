"""Files are read whole only if they end."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxtui import cli
from jaxtui.core.history.recording import Recording
from jaxtui.core.model import CaseMeasured, Ready, SelectionError
from jaxtui.core.places import LARGEST_BYTES, read_whole
from jaxtui.features.bench import messages
from jaxtui.features.check import baseline
from jaxtui.features.lessons import progress
from jaxtui.tasks import own
from jaxtui.tasks.errors import RefusedError
from tests.processes import ended
from tests.records import case, device, host, measurement


def _make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _make_sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, LARGEST_BYTES + 1)


ENDLESS: dict[str, Callable[[Path], object]] = {
    "zero": lambda path: path.symlink_to("/dev/zero"),
    "random": lambda path: path.symlink_to("/dev/urandom"),
    "pipe": os.mkfifo,
    "socket": _make_socket,
    "folder": Path.mkdir,
    "sparse": _make_sparse,
}


@pytest.fixture(params=ENDLESS)
def endless(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    """Makes something that must not be read, under a name in the data folder."""
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path))
    # The name of a socket has a hundred letters at most.
    monkeypatch.chdir(tmp_path)

    def make(name: str) -> Path:
        path = Path(name)
        path.parent.mkdir(exist_ok=True)
        ENDLESS[request.param](path)
        return path.absolute()

    return make


def test_every_reader_refuses_what_is_no_file_of_a_bearable_size(
    endless: Callable[[str], Path],
) -> None:
    saved = endless("saved.json")
    with pytest.raises(OSError, match=r".+"):
        messages.read(saved)
    compared = ended("compare", saved, saved)
    assert (compared.returncode, compared.stdout) == (64, "")
    assert compared.stderr.count("\n") == 1
    with pytest.raises(SelectionError):
        baseline.load(str(endless("kept.json")))
    endless("lessons.json")
    assert progress.read() == progress.Progress()
    path = str(endless("mine.py"))
    with pytest.raises(RefusedError, match="file-unreadable"):
        own.check(case(op=f"{path}:f", size=0, dtype=""))


def test_a_file_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(b"12345")
    assert read_whole(path, 5) == b"12345"
    with pytest.raises(OSError, match="at most 4") as error:
        read_whole(path, 4)
    assert error.value.strerror
    # A file of the kernel that says it has no bytes.
    assert b"MemTotal" in read_whole("/proc/meminfo")


@pytest.fixture(params=["raises", "leaves"])
def homeless(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No home, as platformdirs says it: the older ones leave the path as it is."""

    def folder(*_: object, **__: object) -> str:
        if request.param == "raises":
            raise RuntimeError
        return "~/.local/share/jaxtui"

    monkeypatch.setattr("platformdirs.user_data_dir", folder)
    monkeypatch.setattr(progress, "_TOLD", set())
    monkeypatch.delenv("JAXTUI_DATA")


@pytest.mark.usefixtures("homeless")
def test_without_a_home_nothing_is_saved_and_that_is_said_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said: list[str] = []
    recording = Recording(said.append)
    recording.observe(Ready(host=host(), devices=(device("cpu:0"),), ops=()))
    recording.look_back([case()])
    for index in range(2):
        recording.observe(CaseMeasured(index=index, measurement=measurement(case())))
    assert not recording.close()
    (why,) = said
    assert "JAXTUI_DATA" in why
    assert progress.read() == progress.Progress()
    assert [progress.add("a", "b"), progress.add("a", "c")] == [why, ""]
    assert cli.main(["history"]) == 3
    assert "Set JAXTUI_DATA" in capsys.readouterr().err
