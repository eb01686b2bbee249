"""The functions of a file as it is written: whatever is in it, nothing of it runs."""

from __future__ import annotations

import contextlib
import os
import tempfile
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.functions import LARGEST_BYTES, Listing, OwnFunction, listing
from jaxtui.model.own import brief_name
from jaxtui.selection import SelectionError, split_arguments


def of(folder: Path, text: str) -> Listing:
    path = folder / "mine.py"
    path.write_text(textwrap.dedent(text))
    return listing(str(path))


def test_name_signature_docstring_and_factory(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        '''
        raise SystemExit("it was run")

        def step(params: dict[str, "Array"], batch, /, rate=1e-3, *, seed=0):
            """One step.

            And more of it.
            """

        def step_args(size=256, seed=0): ...
        def loss(params, batch): return 0
        def make_args(seed, size): ...
        def loss_numpy(params, batch): ...
        def _private(x): ...
        ''',
    )
    step, loss = found.functions
    assert step.name == "step"
    assert step.signature == "(params, batch, /, rate=0.001, *, seed=0)"
    assert step.summary == "One step."
    assert step.required == ("params", "batch")
    assert (step.factory, step.needs_size) == ("step_args(size=256, seed=0)", False)
    assert not step.has_numpy
    assert (loss.factory, loss.needs_size) == ("make_args(seed, size)", True)
    assert loss.has_numpy
    assert found.find("step") is step
    assert found.find("elsewhere") == OwnFunction(
        "elsewhere", summary="Without a def of its own in this file."
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("def f(x): ...\ndef a(x): ...", ("f", "a")),
        ("@jax.jit\ndef f(x): ...", ("f",)),
        ("def f(x): ...\ndef f(z): ...", ("f",)),
        ("f = jax.jit(_f)", ()),
        ("class Model:\n    def apply(self, x): ...", ()),
        ('if __name__ == "__main__":\n    def f(x): ...', ()),
        ("async def f(x): ...", ()),
        ("def _f(x): ...", ()),
        ("def train_args(size): ...\ndef make_args(): ...\ndef f_numpy(): ...", ()),
    ],
)
def test_the_functions_are_the_defs(
    tmp_path: Path, text: str, names: tuple[str, ...]
) -> None:
    assert tuple(one.name for one in of(tmp_path, text).functions) == names


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_bytes("# coding: latin-1\ndef f(x):\n    'Größe.'\n".encode("latin-1"))
    assert listing(str(path)).functions[0].summary == "Größe."
    path.write_bytes("\ufeffdef größe(x): ...\r\n".encode())
    assert listing(str(path)).functions[0].name == "größe"


def refused(path: Path | str) -> str:
    with pytest.raises(SelectionError) as error:
        listing(str(path))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_syntax_errors_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import jax\n\ndef f(x:\n    return x\n")
    assert refused(path).startswith("mine.py line 3 is not Python: ")
    path.write_bytes(b"def f(x): return '\xff'\n")
    assert "is not Python" in refused(path)
    path.write_bytes(b"# coding: nonsense\n")
    assert "is not Python" in refused(path)


def test_what_is_no_file_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text("")
    assert "Did you mean train.py?" in refused(tmp_path / "trian.py")
    assert "is a folder" in refused(tmp_path)
    (tmp_path / "notes.txt").write_text("def f(x): ...")
    assert "does not end in .py" in refused(tmp_path / "notes.txt")
    (tmp_path / "binary.py").write_bytes(b"\x7fELF\0\0")
    assert "is not text" in refused(tmp_path / "binary.py")
    os.mkfifo(tmp_path / "pipe.py")
    assert "is not an ordinary file" in refused(tmp_path / "pipe.py")
    with open(tmp_path / "huge.py", "wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    assert "4 MB: that is not a file of functions" in refused(tmp_path / "huge.py")
    assert "cannot be read" in refused("nul\0l.py")
    (tmp_path / "deep.py").write_text("x = " + "(" * 5000 + ")" * 5000)
    assert "deep.py" in refused(tmp_path / "deep.py")

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", denied)
    assert "cannot be read: Permission denied." in refused(tmp_path / "train.py")


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(content: bytes) -> None:
    # Not in a fixture's folder: hypothesis runs this many times.
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mine.py")
        Path(path).write_bytes(content)
        with contextlib.suppress(SelectionError):
            assert isinstance(listing(path), Listing)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("f32[1024,1024] i32[8]", ("f32[1024,1024]", "i32[8]")),
        ("f32[8, 8],s32[]", ("f32[8, 8]", "s32[]")),
        ("  ", ()),
        ("f32[8", ("f32[8",)),
        ("f32[8,8]{1,0} x", ("f32[8,8]{1", "0}", "x")),
    ],
)
def test_several_arguments_on_one_line(text: str, arguments: tuple[str, ...]) -> None:
    assert split_arguments(text) == arguments


def test_names_for_where_there_is_little_room() -> None:
    assert brief_name("matmul") == "matmul"
    assert brief_name("/long/path/train.py:step") == "train.py:step"
    assert brief_name("/p/train.py:step,loss") == "train.py:step,loss"
    assert brief_name("/p/train.py:step,loss,forward") == "train.py:step +2"
