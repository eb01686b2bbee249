"""What people type: accepted texts, and the remarks that refuse others."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.core import selection
from jaxtui.core.model import SelectionError
from jaxtui.core.selection import SizedOp, parse_sizes
from tests.golden.test_documents import DOCUMENTS, check_frozen
from tests.records import device, op

CATALOGUE = tuple(map(op, ("matmul", "selu", "sigmoid")))
DEVICES = (
    *map(device, ("tpu:0", "tpu:1")),
    device("tpu:2", process_index=1, addressable=False),
)


def parse_op(text: str) -> tuple[SizedOp, ...]:
    return selection.parse_ops(text.split(" "), CATALOGUE)


def parse_devices(text: str) -> tuple[str, ...]:
    return selection.parse_devices(text, DEVICES)


def parse_device(text: str) -> object:
    return selection.parse_device(text, DEVICES)


def parse_argument(text: str) -> object:
    return selection.parse_arguments([text])


def refusal(parse: Callable[[str], object], text: str) -> str:
    """Said in one sentence, but for a question at its end."""
    with pytest.raises(SelectionError) as refused:
        parse(text)
    sentence = re.sub(r'"[^"]*"| Did you mean .*\?$', "", str(refused.value))
    assert sentence.endswith(".")
    assert not re.search(r"\n|\. [A-Z]", sentence)
    return str(refused.value)


ACCEPTED: dict[Callable[[str], object], tuple[str, ...]] = {
    parse_sizes: (
        *("4k", "1.5K", "2M,1G", "2.5e3, 1E6", "1e+3,1.0,1e15", "256..4096", "7..7"),
        *("100..200 x 1.5", "1..5x1.2,7", "1e3..1e6×10", "1e6, 256 .. 1k,512"),
    ),
    selection.parse_budget: ("", " 1e1 ", "2.5s"),
    selection.parse_dtypes: ("bf16, F32,float32",),
    selection.parse_modes: ("jit,Pallas,jit",),
    selection.parse_inputs: ("host,device",),
    selection.parse_precisions: ("highest",),
    parse_devices: (
        *("tpu:1, TPU:0", "all", "tpu:0-1", "TPU:2,0", "tpu:1-1", "tpu"),
        "tpu:0,tpu:1-2",
    ),
    parse_op: ("selu:1e6,2e6", "matmul,SELU"),
    selection.split_arguments: (
        *("f32[1024,1024] i32[8]", "f32[8, 8],s32[]", "  ", "f32[8"),
        "f32[8,8]{1,0} x",
    ),
}
REFUSED: dict[Callable[[str], object], tuple[str, ...]] = {
    parse_sizes: (
        *("0", "-5", "abc", "1.5", "1e-3", "1/2", "1_000", "nan", "inf", "0x10"),
        *("256..", "..256", "4096..256", "1..2..3", "256-512", "256...512", "12,abc"),
        *("", "  ", "1,,2", "1,", ",", "4 k", "k", "1kk", "²", "٣"),
        *("1e16", "1e99", "9" * 400, "1e999999999"),
        *("1..8x", "1..8x0", "1..8x1", "1..8x1.001", "3x2", "1..1e15x1.01", "1..8x-2"),
    ),
    selection.parse_budget: ("0", "-1", "nan", "inf", "soon", "1e9", "5 min"),
    selection.parse_bytes: ("-1", "1e16"),
    selection.parse_dtypes: ("flaot32", ","),
    selection.parse_modes: ("jti",),
    selection.parse_inputs: ("devcie",),
    selection.parse_precisions: ("hihgest",),
    parse_devices: (
        *("TPUU:1", "tpu:2", "host", "tpu:1-0", "tpu:0-999999999", "gpu:0-1"),
    ),
    parse_op: ("matmull:2k", "x.py:f", "nothing.here:f", "matmul 256", ""),
    selection.parse_mesh: ("0x4", "2x2x2x2", "2x4@z"),
    parse_device: ("tpu",),
    parse_argument: ("8,8", "f7[8]", "f32[0]", "f32[8,8]@x,x"),
}


def test_what_is_typed() -> None:
    lines = []
    for parse, texts in ACCEPTED.items():
        lines += [f"{parse.__name__} {text!r}: {parse(text)!r}" for text in texts]
    for parse, texts in REFUSED.items():
        for text in texts:
            lines.append(f"{parse.__name__} {text[:50]!r}: {refusal(parse, text)}")
    check_frozen(DOCUMENTS / "typed.txt", "\n".join(lines) + "\n")


@given(st.text(max_size=30) | st.text("0123456789kKmMgGe+.,- ", max_size=20))
def test_any_text_means_something_or_is_refused_in_a_sentence(text: str) -> None:
    with suppress(SelectionError):
        sizes = parse_sizes(text)
        assert sizes
        assert len(set(sizes)) == len(sizes)
        assert all(0 < size <= selection.MAXIMUM_SIZE for size in sizes)
    for kind in ("dtypes", "modes", "inputs", "precisions"):
        with suppress(SelectionError):
            assert getattr(selection, f"parse_{kind}")(text)
    for parse in (parse_devices, parse_op):
        with suppress(SelectionError):
            assert parse(text)


@given(st.integers(1, 10**9), st.integers(0, 10**9))
def test_a_range_doubles_and_includes_both_ends(start: int, more: int) -> None:
    sizes = parse_sizes(f"{start}..{start + more}")
    assert (sizes[0], sizes[-1]) == (start, start + more)
    assert all(after == 2 * size for size, after in pairwise(sizes[:-1]))
    assert all(size < after <= 2 * size for size, after in pairwise(sizes))


@pytest.mark.parametrize(
    ("size", "text"),
    [(1024, "64..1024"), (1000, "125..1000"), (1001, "62,125,250,500,1001")],
)
def test_a_sweep_halves_its_largest_size(size: int, text: str) -> None:
    assert selection.halves(size, 5) == text


def test_a_module_is_the_file_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package" / "inner").mkdir(parents=True)
    for name in ("alone.py", "package/__init__.py", "package/inner/train.py"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)

    def parse(text: str) -> tuple[SizedOp, ...]:
        return selection.parse_ops([text], CATALOGUE, own=True)

    assert parse("package.inner.train:step,Net.loss:2k") == (
        SizedOp(f"{tmp_path}/package/inner/train.py:step", (2048,)),
        SizedOp(f"{tmp_path}/package/inner/train.py:Net.loss", (2048,)),
    )
    assert parse("package:f") == (SizedOp(f"{tmp_path}/package/__init__.py:f"),)
    assert parse("alone:net.step") == (SizedOp(f"{tmp_path}/alone.py:net.step"),)
    assert parse("matmul:2k") == (SizedOp("matmul", (2048,)),)
    # Of those that Python finds nothing is imported.
    (found,) = parse("xml.sax.handler:feature")
    assert found.name.endswith("/xml/sax/handler.py:feature")
    assert "no module package.none here" in refusal(parse, "package.none:f")
