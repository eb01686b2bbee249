"""Files of functions as they are typed: what cannot be read is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jaxtui.core.functions import LARGEST_BYTES, read
from jaxtui.core.model import SelectionError
from jaxtui.core.model.own import brief_name


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("trian.py", "Did you mean train.py?"),
        ("", "Is a directory"),
        ("pipe.py", "a pipe, not a regular file"),
        ("huge.py", "4,000,001 bytes"),
        ("nul\0l.py", "Cannot read"),
        ("denied.py", ": Permission denied."),
    ],
)
def test_what_is_no_file_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "train.py").touch()
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "huge.py").touch()
    os.truncate(tmp_path / "huge.py", LARGEST_BYTES + 1)
    (tmp_path / "denied.py").touch()
    if name == "denied.py":
        monkeypatch.setattr("builtins.open", denied)
    with pytest.raises(SelectionError) as error:
        read(f"{tmp_path}/{name}", name)
    sentence = str(error.value)
    assert said in sentence
    assert "\n" not in sentence


def test_names_for_where_there_is_little_room() -> None:
    assert brief_name("matmul") == "matmul"
    assert brief_name("/p/train.py:step,loss") == "train.py:step,loss"
    assert brief_name("/p/train.py:step,loss,forward") == "train.py:step +2"
