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
from jaxtui.model import SelectionError
from jaxtui.model.own import brief_name


def of(folder: Path, text: str | bytes) -> Listing:
    path = folder / "mine.py"
    path.write_bytes(
        text if isinstance(text, bytes) else textwrap.dedent(text).encode()
    )
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
        ("def train_args(size): ...\ndef make_args(): ...\ndef f_numpy(): ...", ()),
        ("# coding: latin-1\ndef größe(x): ...\n".encode("latin-1"), ("größe",)),
        ("\ufeffdef größe(x): ...\r\n".encode(), ("größe",)),
    ],
)
def test_the_functions_are_the_defs(
    tmp_path: Path, text: str | bytes, names: tuple[str, ...]
) -> None:
    assert tuple(one.name for one in of(tmp_path, text).functions) == names


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("mine.py", b"\n\ndef f(x:\n    return x\n", "mine.py line 3 is not Python: "),
        ("mine.py", b"def f(x): return '\xff'\n", "is not Python"),
        ("mine.py", b"# coding: nonsense\n", "is not Python"),
        ("notes.txt", b"def f(x): ...", "does not end in .py"),
        ("binary.py", b"\x7fELF\0\0", "is not text"),
        ("deep.py", b"x = " + b"(" * 5000 + b")" * 5000, "deep.py"),
        ("trian.py", None, "Did you mean train.py?"),
        ("", None, "is a folder"),
        ("pipe.py", None, "a pipe, not a regular file"),
        ("huge.py", None, "4,000,001 bytes"),
        ("nul\0l.py", None, "cannot be read"),
        ("denied.py", None, "cannot be read: Permission denied."),
    ],
)
def test_what_is_no_file_of_python(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: bytes | None,
    said: str,
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "train.py").touch()
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "huge.py").touch()
    os.truncate(tmp_path / "huge.py", LARGEST_BYTES + 1)
    (tmp_path / "denied.py").touch()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    if name == "denied.py":
        monkeypatch.setattr("builtins.open", denied)
    with pytest.raises(SelectionError) as error:
        listing(f"{tmp_path}/{name}")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(content: bytes) -> None:
    # Not in a fixture's folder: hypothesis runs this many times.
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mine.py")
        Path(path).write_bytes(content)
        with contextlib.suppress(SelectionError):
            assert isinstance(listing(path), Listing)


def test_names_for_where_there_is_little_room() -> None:
    assert brief_name("matmul") == "matmul"
    assert brief_name("/p/train.py:step,loss") == "train.py:step,loss"
    assert brief_name("/p/train.py:step,loss,forward") == "train.py:step +2"
