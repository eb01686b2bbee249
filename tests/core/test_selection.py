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
from jaxtui.core.model import DTYPES, SelectionError
from jaxtui.core.selection import SizedOp, parse_sizes
from tests.records import device, op

CATALOGUE = tuple(map(op, ("matmul", "selu", "sigmoid")))
DEVICES = (
    *map(device, ("tpu:0", "tpu:1")),
    device("tpu:2", process_index=1, addressable=False),
)


def parse_op(*texts: str) -> tuple[SizedOp, ...]:
    return selection.parse_ops(texts, CATALOGUE)


def parse_devices(text: str) -> tuple[str, ...]:
    return selection.parse_devices(text, DEVICES)


def refusal(parse: Callable[[str], object], text: str) -> str:
    """Said in one sentence, but for a question at its end."""
    with pytest.raises(SelectionError) as refused:
        parse(text)
    sentence = re.sub(r'"[^"]*"| Did you mean .*\?$', "", str(refused.value))
    assert sentence.endswith(".")
    assert not re.search(r"\n|\. [A-Z]", sentence)
    return str(refused.value)


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (parse_sizes, "4k", (4096,)),
        (parse_sizes, "1.5K", (1536,)),
        (parse_sizes, "2M,1G", (2 * 1024**2, 1024**3)),
        (parse_sizes, "2.5e3, 1E6", (2500, 1_000_000)),
        (parse_sizes, "1e+3,1.0,1e15", (1000, 1, 10**15)),
        (parse_sizes, "256..4096", (256, 512, 1024, 2048, 4096)),
        (parse_sizes, "100..200 x 1.5", (100, 150, 200)),
        (parse_sizes, "1..5x1.2,7", (1, 2, 3, 4, 5, 7)),
        (parse_sizes, "1e3..1e6×10", (1000, 10_000, 100_000, 1_000_000)),
        (parse_sizes, "7..7", (7,)),
        (parse_sizes, "1e6, 256 .. 1k,512", (1_000_000, 256, 512, 1024)),
        (selection.parse_budget, "", None),
        (selection.parse_budget, " 1e1 ", 10.0),
        (selection.parse_budget, "2.5s", 2.5),
        (selection.parse_dtypes, "bf16, F32,float32", ("bfloat16", "float32")),
        (selection.parse_modes, "jit,Pallas,jit", ("jit", "pallas")),
        (selection.parse_inputs, "host,device", ("host", "device")),
        (selection.parse_precisions, "highest", ("highest",)),
        (parse_devices, "tpu:1, TPU:0", ("tpu:1", "tpu:0")),
        (parse_devices, "all", ("tpu:0", "tpu:1", "tpu:0-2")),
        (parse_devices, "tpu:0-1", ("tpu:0-1",)),
        (parse_devices, "TPU:2,0", ("tpu:0,2",)),
        (parse_devices, "tpu:1-1", ("tpu:1",)),
        (parse_devices, "tpu:0,tpu:1-2", ("tpu:0", "tpu:1-2")),
        (parse_devices, "tpu", ("tpu:0", "tpu:1")),
        (parse_op, "selu:1e6,2e6", (SizedOp("selu", (10**6, 2 * 10**6)),)),
        (parse_op, "matmul,SELU", (SizedOp("matmul"), SizedOp("selu"))),
    ],
)
def test_what_is_accepted(parse, text: str, expected: object) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("0", "-5", "abc", "1.5", "1e-3", "1/2", "1_000", "nan", "inf", "0x10"),
        *("256..", "..256", "4096..256", "1..2..3", "256-512", "256...512"),
        *("", "  ", "1,,2", "1,", ",", "4 k", "k", "1kk", "²", "٣"),
        *("1e16", "1e99", "9" * 400, "1e999999999"),
        *("1..8x", "1..8x0", "1..8x1", "1..8x1.001", "3x2", "1..1e15x1.01", "1..8x-2"),
    ],
)
def test_sizes_that_are_refused_are_quoted(text: str) -> None:
    assert text.strip().strip(",")[:50] in refusal(parse_sizes, text)


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (selection.parse_dtypes, "flaot32", f"of {', '.join(DTYPES)}. Did you"),
        (selection.parse_modes, "jti", 'There is no mode "jti"'),
        (selection.parse_inputs, "devcie", 'no place for inputs "devcie"'),
        (selection.parse_precisions, "hihgest", 'no precision "hihgest"'),
        (parse_op, "matmull:2k", 'There is no op "matmull"'),
        (parse_devices, "TPUU:1", 'There is no device "tpuu:1"'),
        *(
            (selection.parse_budget, text, f'The budget "{text}" is not a time')
            for text in ("0", "-1", "nan", "inf", "soon", "1e9", "5 min")
        ),
        (parse_sizes, "12,abc", '"abc" is not a size: write'),
        (parse_sizes, "4096..256", "downwards: write 256..4096."),
        (selection.parse_bytes, "-1", '"-1" is not a size: bytes'),
        (selection.parse_bytes, "1e16", '"1e16" is not a size: bytes'),
        (selection.parse_dtypes, ",", "There is no dtype"),
        (lambda text: parse_op("matmul", text), "256", "as in matmul:256,"),
        (
            lambda text: parse_op(),
            "",
            'There is no op "": choose one of matmul, selu, sigmoid.',
        ),
        (parse_op, "x.py:f", '"x.py:f" is a function of a file: only'),
        (parse_op, "nothing.here:f", "is a function of a file: only"),
        (parse_devices, "tpu:2", "tpu:2 belongs to process 1: choose one of"),
        (parse_devices, "host", "for JAX choose one of tpu:0, tpu:1."),
        (parse_devices, "tpu:1-0", "downwards: write 0-1."),
        (
            parse_devices,
            "tpu:0-999999999",
            'There is no device "tpu:3": choose one of tpu:0-2.',
        ),
        (parse_devices, "gpu:0-1", '"gpu:0": there is none here.'),
        (selection.parse_mesh, "0x4", '"0x4" is not a mesh'),
        (selection.parse_mesh, "2x2x2x2", "is not a mesh"),
        (selection.parse_mesh, "2x4@z", '"2x4@z" is not a mesh'),
        (
            lambda text: selection.parse_device(text, DEVICES),
            "tpu",
            '"tpu" is 2 devices: name one, such as tpu:0.',
        ),
    ],
)
def test_what_selects_nothing_is_refused_with_its_reason(
    parse, text: str, said: str
) -> None:
    assert said in refusal(parse, text)


@pytest.mark.parametrize("text", ["8,8", "f7[8]", "f32[0]", "f32[8,8]@x,x"])
def test_an_argument_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(SelectionError, match="is not an argument"):
        selection.parse_arguments([text])


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
    assert selection.split_arguments(text) == arguments


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
