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

from jaxtui.model.own import brief_name, parse_specs
from jaxtui.selection import SelectionError, split_arguments
from jaxtui.selection.functions import (
    Factory,
    Listing,
    OwnFunction,
    Takes,
    wrong_with,
)
from jaxtui.selection.listing import LARGEST_BYTES, listing


def of(folder: Path, text: str) -> Listing:
    path = folder / "mine.py"
    path.write_text(textwrap.dedent(text))
    return listing(str(path))


def one(folder: Path, text: str) -> OwnFunction:
    (function,) = of(folder, text).functions
    return function


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
    assert step.takes == Takes(("params", "batch"), 3)
    assert step.factory == Factory("step_args", "step_args(size=256, seed=0)")
    assert not step.has_numpy
    assert loss.factory == Factory("make_args", "make_args(seed, size)", True)
    assert loss.has_numpy
    assert found.find("_private").signature == "(x)"
    assert "imported" in found.find("elsewhere").summary


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("f = jax.jit(_f)", "(x, y)"),
        ("f = jit(jax.vmap(_f, in_axes=0), donate_argnums=0)", "(x, y)"),
        ("f: object = jax.value_and_grad(_f)", "(x, y)"),
        ("f = functools.partial(jax.jit, static_argnums=0)(_f)", "(x, y)"),
        ("f = jax.jit(lambda a: a)", "(a)"),
        ("f = lambda *a, **b: a", "(*a, **b)"),
        ("f = functools.partial(_f, 1)", "(…)"),
        ("f = jax.jit(imported.f)", "(…)"),
        ("def f(x): ...\nf = jax.jit(f)", "(x)"),
        ("def f(x): ...\ndef f(z): ...", "(z)"),
        ("try:\n    def f(x): ...\nexcept ImportError:\n    def f(z): ...", "(x)"),
        ("if FAST:\n    def f(x): ...\nelse:\n    def f(z): ...", "(x)"),
        ("@functools.partial(jax.jit, static_argnums=0)\ndef f(x): ...", "(x)"),
    ],
)
def test_what_stands_for_a_function(tmp_path: Path, text: str, signature: str) -> None:
    function = one(tmp_path, f"def _f(x, y): ...\n{text}\n")
    assert (function.name, function.signature) == ("f", signature)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 3\nf = load('weights')\n",
        "class Model:\n    def apply(self, x): ...\n",
        "from jax import jit\nimport numpy as np\n",
        'if __name__ == "__main__":\n    def f(x): ...\n',
        "if typing.TYPE_CHECKING:\n    def f(x): ...\n",
        "def f(x): ...\nf = 3\n",
        "def train_args(size): ...\ndef make_args(): ...\n",
    ],
)
def test_what_is_no_function_to_be_timed(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    assert listing(str(tmp_path / "mine.py")).functions == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("async def f(x): ...", "f is async"),
        ("def f(x):\n    yield x", "f is a generator"),
        ("def f(x):\n    def g():\n        yield x\n    return g", ""),
        ("def f(x):\n    if x:\n        yield from x", "f is a generator"),
        ("def f(): ...", "f takes no arguments"),
        ("def f(): ...\ndef f_args(): ...", ""),
        ("def f(x, *, axis): ...\ndef f_args(): ...", "f must be given axis by keyw"),
        ("@contextmanager\ndef f(x):\n    yield x", ""),
        ("@hydra.main()\ndef f(config): ...", ""),
    ],
)
def test_what_cannot_be_timed_says_why(tmp_path: Path, text: str, problem: str) -> None:
    function = one(tmp_path, text)
    assert bool(function.problem) == bool(problem)
    assert wrong_with(function, parse_specs("f32[8]")).startswith(problem)


@pytest.mark.parametrize(
    ("signature", "typed", "words"),
    [
        ("x, y", "", "f takes x, y, and nothing says what to give it"),
        ("*xs", "", "f takes (*xs), and nothing says what to give it"),
        ("x, y", "f32[8]", "f(x, y) takes 2 arguments; 1 typed."),
        ("x", "f32[8] f32[8]", "f(x) takes 1 argument; 2 typed."),
        ("x, y=1", "f32[8] f32[8] s32[]", "takes 1 to 2; 3 typed."),
        ("x, *xs", "f32[8] f32[8] s32[]", ""),
        ("x, y=1", "f32[8]", ""),
        ("x, *xs, key=None, **more", "f32[8]", ""),
        ("x, y, *xs", "f32[8]", "takes 2 arguments or more; 1 typed."),
    ],
)
def test_arguments_must_suit_the_function(
    tmp_path: Path, signature: str, typed: str, words: str
) -> None:
    function = one(tmp_path, f"def f({signature}): ...\n")
    said = wrong_with(function, parse_specs(typed))
    assert words in said
    assert bool(said) == bool(words)


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
    assert refused(path).startswith("mine.py line 3 is no Python: ")
    path.write_bytes(b"def f(x): return '\xff'\n")
    assert "is no Python" in refused(path)
    path.write_bytes(b"# coding: nonsense\n")
    assert "is no Python" in refused(path)


def test_what_is_no_file_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text("")
    assert "Did you mean train.py?" in refused(tmp_path / "trian.py")
    assert "is a folder" in refused(tmp_path)
    (tmp_path / "notes.txt").write_text("def f(x): ...")
    assert "does not end in .py" in refused(tmp_path / "notes.txt")
    (tmp_path / "binary.py").write_bytes(b"\x7fELF\0\0")
    assert "is no text" in refused(tmp_path / "binary.py")
    os.mkfifo(tmp_path / "pipe.py")
    assert "is no ordinary file" in refused(tmp_path / "pipe.py")
    with open(tmp_path / "huge.py", "wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    assert "4 MB: that is no file of functions" in refused(tmp_path / "huge.py")
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
