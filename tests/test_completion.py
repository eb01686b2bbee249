"""Paths of Python files as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxtui.functions import MOST, candidates, split_names


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("train.py", "trial.py", "Model.py", ".hidden.py", "data.csv"):
        (tmp_path / name).write_text("")
    for name in ("src", "__pycache__", ".git"):
        (tmp_path / name).mkdir()
    (tmp_path / "src" / "step.py").write_text("")
    (tmp_path / "dangling.py").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "paths"),
    [
        ("", ("dangling.py", "Model.py", "train.py", "trial.py", "src/")),
        ("tr", ("train.py", "trial.py")),
        ("MOD", ("Model.py",)),
        ("ain", ("train.py",)),
        (".", (".hidden.py", ".git/")),
        ("src/", ("src/step.py",)),
        ("./src/st", ("./src/step.py",)),
        ("~", ("~/",)),
        ("~/tra", ("~/train.py",)),
    ],
)
def test_what_may_follow(work: Path, typed: str, paths: tuple[str, ...]) -> None:
    found = candidates(typed)
    assert (found.paths, found.trouble) == (paths, "")
    absolute = candidates(f"{work}/tr")
    assert absolute.paths == (f"{work}/train.py", f"{work}/trial.py")
    assert absolute.common == f"{work}/tr"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("nowhere/", "There is no folder nowhere/."),
        ("train.py/", "train.py/ cannot be read: Not a directory."),
        ("zzz", 'Nothing in the working directory matches "zzz".'),
        (".git/", "There is no Python file and no folder in .git/."),
        ("a\0/", "cannot be read"),
    ],
)
def test_nothing_says_why(work: Path, typed: str, words: str) -> None:
    found = candidates(typed)
    assert found.paths == ()
    assert words in found.trouble


def test_a_full_folder_is_cut(work: Path) -> None:
    for number in range(MOST + 7):
        (work / "src" / f"m{number:04}.py").write_text("")
    found = candidates("src/m")
    assert (len(found.paths), found.more) == (MOST, 7)
    assert found.common == "src/m0"


def test_functions_behind_the_path() -> None:
    assert split_names(" train.py ") == ("train.py", ())
    assert split_names("a:b/train.py:step, loss") == ("a:b/train.py", ("step", "loss"))
    assert split_names("train.py:") == ("train.py", ())
