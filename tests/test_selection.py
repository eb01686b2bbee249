"""What people type: accepted texts, refused texts, and the cases that come of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui import selection
from jaxtui.model import (
    DTYPES,
    HOST,
    HOST_MODES,
    MODES,
    Case,
    Device,
    Experiment,
    Host,
    OpInfo,
)
from jaxtui.selection import OpChoice, SelectionError


def op(name: str, dtypes: tuple[str, ...] = DTYPES, precision: bool = False) -> OpInfo:
    return OpInfo(
        name=name,
        summary=f"{name}.",
        size_means="n",
        dtypes=dtypes,
        flops="n",
        bytes="n",
        minimum=1,
        default=1000,
        maximum=10**9,
        takes_precision=precision,
    )


def device(name: str, process: int = 0, addressable: bool = True) -> Device:
    platform, number = name.split(":")
    return Device(
        id=int(number),
        platform=platform,
        device_kind="kind",
        process_index=process,
        addressable=addressable,
    )


CATALOGUE = (
    op("matmul", precision=True),
    op("selu", ("float32", "float16")),
    op("sigmoid", ("float32",)),
)
DEVICES = (device("tpu:0"), device("tpu:1"), device("tpu:2", 1, addressable=False))
HOST_FACTS = Host(
    hostname="h",
    python="3",
    jax="0",
    jaxlib="0",
    numpy="2",
    platform_version="v",
    cpu_count=2,
)


def build(*ops: OpChoice, **options: object) -> Experiment:
    return selection.build(
        ops or (OpChoice("matmul"),),
        catalogue=CATALOGUE,
        known_devices=DEVICES,
        **options,  # type: ignore[arg-type]
    )


# Sizes.


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("4096", (4096,)),
        ("4k", (4096,)),
        ("4K", (4096,)),
        ("1.5k", (1536,)),
        ("2M", (2 * 1024 * 1024,)),
        ("1G", (1024**3,)),
        ("1e6", (1_000_000,)),
        ("1E6", (1_000_000,)),
        ("2.5e3", (2500,)),
        ("1e+3", (1000,)),
        ("1.0", (1,)),
        ("256..4096", (256, 512, 1024, 2048, 4096)),
        ("256..1024x2", (256, 512, 1024)),
        ("100..200 x 1.5", (100, 150, 200)),
        ("1..5x1.2,7", (1, 2, 3, 4, 5, 7)),
        ("1e3..1e6×10", (1000, 10_000, 100_000, 1_000_000)),
        ("1k..4k", (1024, 2048, 4096)),
        ("300..1000", (300, 600, 1000)),
        ("7..7", (7,)),
        ("1000,2000", (1000, 2000)),
        ("2000, 1000", (2000, 1000)),
        ("1e6,256..1k,512", (1_000_000, 256, 512, 1024)),
        (" 64 .. 128 ", (64, 128)),
        ("1e15", (10**15,)),
    ],
)
def test_sizes_that_are_accepted(text: str, sizes: tuple[int, ...]) -> None:
    assert selection.parse_sizes(text) == sizes


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
def test_sizes_that_are_refused(text: str) -> None:
    with pytest.raises(SelectionError) as caught:
        selection.parse_sizes(text)
    sentence = str(caught.value)
    assert one_sentence(sentence)
    if text.strip() and len(text) < 50:
        assert text.strip().strip(",") in sentence


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("12,abc", r'^"abc" is not a size: .*4096.*256\.\.4096'),
        ("4096..256", r"write 256\.\.4096\."),
    ],
)
def test_a_refused_size_says_what_is_accepted(text: str, said: str) -> None:
    with pytest.raises(SelectionError, match=said):
        selection.parse_sizes(text)


@given(st.text(max_size=30) | st.text("0123456789kKmMgGe+.,- ", max_size=20))
def test_any_text_is_sizes_or_one_sentence(text: str) -> None:
    sizes = outcome(selection.parse_sizes, text)
    if not isinstance(sizes, str):
        assert sizes
        assert len(set(sizes)) == len(sizes)
        assert all(0 < size <= selection.MAXIMUM_SIZE for size in sizes)


@given(st.integers(1, 10**9), st.integers(0, 10**9))
def test_a_range_doubles_and_includes_both_ends(start: int, more: int) -> None:
    sizes = selection.parse_sizes(f"{start}..{start + more}")
    assert sizes[0] == start
    assert sizes[-1] == start + more
    assert all(after == 2 * size for size, after in pairwise(sizes[:-1]))
    assert all(size < after <= 2 * size for size, after in pairwise(sizes))


@pytest.mark.parametrize(
    ("size", "text"),
    [(1024, "64..1024"), (1000, "125..1000"), (1001, "62,125,250,500,1001")],
)
def test_a_sweep_halves_its_largest_size(size: int, text: str) -> None:
    assert selection.halves(size, 5) == text
    sizes = selection.parse_sizes(text)
    assert all(after // 2 == before for before, after in pairwise(sizes))


# A budget.


@pytest.mark.parametrize(
    ("text", "seconds"), [("", None), (" 10 ", 10.0), ("2.5s", 2.5), ("1e2", 100.0)]
)
def test_budgets_that_are_accepted(text: str, seconds: float | None) -> None:
    assert selection.parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon", "1e9", "5 min"])
def test_budgets_that_are_refused(text: str) -> None:
    with pytest.raises(SelectionError, match=f'^The budget "{text}" is not a time: '):
        selection.parse_budget(text)


# Names.


@pytest.mark.parametrize(
    ("texts", "ops"),
    [
        (["matmul:2k"], (OpChoice("matmul", (2048,)),)),
        (
            ["selu:1e6,2e6", "sigmoid"],
            (OpChoice("selu", (10**6, 2 * 10**6)), OpChoice("sigmoid")),
        ),
        (["matmul,SELU"], (OpChoice("matmul"), OpChoice("selu"))),
    ],
)
def test_ops_and_their_own_sizes(texts: list[str], ops: tuple[OpChoice, ...]) -> None:
    assert selection.parse_ops(texts, CATALOGUE) == ops


def parse_op(*texts: str) -> tuple[OpChoice, ...]:
    return selection.parse_ops(texts, CATALOGUE)


def parse_devices(text: str) -> tuple[str, ...]:
    return selection.parse_devices(text, DEVICES)


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (selection.parse_dtypes, "float32,bfloat16", ("float32", "bfloat16")),
        (selection.parse_dtypes, "bf16, F32,float32", ("bfloat16", "float32")),
        (selection.parse_modes, "jit,numpy,jit", ("jit", "numpy")),
        (selection.parse_modes, "Pallas,tensorflow", ("pallas", "tensorflow")),
        (selection.parse_inputs, "host,device", ("host", "device")),
        (selection.parse_precisions, "highest", ("highest",)),
        (parse_devices, "tpu:1", ("tpu:1",)),
        (parse_devices, "tpu:1, TPU:0", ("tpu:1", "tpu:0")),
        (parse_devices, "all", ("tpu:0", "tpu:1")),
        (parse_devices, "tpu", ("tpu:0", "tpu:1")),
    ],
)
def test_lists_of_names(parse, text: str, expected: tuple[str, ...]) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("parse", "text", "exists", "nearest"),
    [
        (selection.parse_dtypes, "flaot32", "complex64", "float32"),
        (selection.parse_modes, "jti", "jit, pallas, tensorflow", "jit"),
        (selection.parse_inputs, "devcie", "device, host", "device"),
        (selection.parse_precisions, "hihgest", "default, high, highest", "highest"),
        (parse_op, "matmull", "selu", "matmul"),
        (parse_op, "matmull:2k", "selu", "matmul"),
        (parse_devices, "tpuu:1", "tpu:0", "tpu:1"),
    ],
)
def test_an_unknown_name_says_what_exists_and_suggests(
    parse, text: str, exists: str, nearest: str
) -> None:
    with pytest.raises(SelectionError) as caught:
        parse(text)
    sentence = str(caught.value)
    assert f'"{text.split(":2k")[0]}"' in sentence
    assert exists in sentence
    assert sentence.endswith(f"Did you mean {nearest}?")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: selection.parse_dtypes(""), "empty"),
        (lambda: selection.parse_dtypes(","), "empty"),
        (lambda: selection.parse_dtypes("float32,,int8"), "empty"),
        (lambda: parse_op("matmul", "256"), "as in matmul:256, or in --size 256"),
        (lambda: parse_devices("tpu:2"), "tpu:2 belongs to process 1"),
        (lambda: parse_devices("host"), "choose the mode numpy"),
        (
            lambda: build(OpChoice("selu"), precisions=("highest",)),
            "selu takes only default",
        ),
        (
            lambda: selection.build(
                (OpChoice("matmul"),), catalogue=CATALOGUE, known_devices=()
            ),
            "no device",
        ),
    ],
)
def test_what_selects_nothing_is_refused_with_its_reason(
    call: Callable[[], object], said: str
) -> None:
    with pytest.raises(SelectionError, match=said):
        call()


@given(st.text(max_size=20))
def test_any_text_is_names_or_one_sentence(text: str) -> None:
    parsers = [
        selection.parse_dtypes,
        selection.parse_modes,
        selection.parse_inputs,
        selection.parse_precisions,
        parse_devices,
        parse_op,
    ]
    assert all(outcome(parse, text) for parse in parsers)


# Cases.


def test_defaults_are_the_plain_case() -> None:
    assert build().cases == (
        Case(op="matmul", size=1000, dtype="float32", device="tpu:0", mode="jit"),
    )


def test_numpy_cases_run_on_the_host_and_are_kept_once() -> None:
    experiment = build(
        devices=("tpu:0", "tpu:1"),
        modes=("numpy", "jit"),
        inputs=("device", "host"),
        precisions=("default", "highest"),
    )
    numpy = [case for case in experiment.cases if case.mode == "numpy"]
    assert numpy == [
        Case(
            op="matmul",
            size=1000,
            dtype="float32",
            device=HOST,
            mode="numpy",
            inputs="host",
        )
    ]
    assert len(experiment.cases) == 1 + 2 * 2 * 2


def test_what_an_op_does_not_take_stays_a_case_and_is_told() -> None:
    ops = (OpChoice("matmul"), OpChoice("sigmoid"))
    experiment = build(*ops, dtypes=("float32", "int32"))
    assert len(experiment.cases) == 4
    assert selection.problems(experiment, CATALOGUE) == (
        "sigmoid does not take int32: it takes float32.",
    )
    experiment = build(OpChoice("selu"), modes=("jit", "pallas"))
    assert [case.mode for case in experiment.cases] == ["jit", "pallas"]
    assert selection.problems(experiment, CATALOGUE) == (
        "selu has no mode pallas: it has numpy, eager, jit.",
    )


def test_tensorflow_runs_on_the_host_like_numpy() -> None:
    first, second = build(modes=("tensorflow", "jit")).cases
    assert (first.device, first.inputs, first.on_host) == (HOST, HOST, True)
    assert (second.device, second.on_host) == ("tpu:0", False)


def test_an_ops_own_size_and_no_precision_of_its_own() -> None:
    ops = (OpChoice("matmul"), OpChoice("selu", (7,)))
    experiment = build(*ops, sizes=(1, 2), precisions=("default", "highest"))
    assert [(case.op, case.size, case.precision) for case in experiment.cases] == [
        ("matmul", 1, "default"),
        ("matmul", 1, "highest"),
        ("matmul", 2, "default"),
        ("matmul", 2, "highest"),
        ("selu", 7, "default"),
    ]


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True),
    dtypes=st.lists(st.sampled_from(DTYPES), min_size=1, unique=True),
    modes=st.lists(st.sampled_from(MODES), min_size=1, unique=True),
    inputs=st.lists(st.sampled_from(("device", "host")), min_size=1, unique=True),
)
def test_every_combination_is_a_case_once(sizes, dtypes, modes, inputs) -> None:
    experiment = build(sizes=sizes, dtypes=dtypes, modes=modes, inputs=inputs)
    hosted = set(modes) & set(HOST_MODES)
    each = (len(modes) - len(hosted)) * len(inputs) + len(hosted)
    assert len(experiment.cases) == len(sizes) * len(dtypes) * each
    assert len(set(experiment.cases)) == len(experiment.cases)


# The first minute, and words.


def first_on(*devices: Device, cores: int | None = 2) -> Experiment:
    host = msgspec.structs.replace(HOST_FACTS, cpu_count=cores)
    return selection.default_experiment(devices, CATALOGUE, host)


@pytest.mark.parametrize(
    ("platform", "cores", "size", "dtype"),
    [
        ("cpu", 2, 1000, "float32"),
        ("cpu", None, 1000, "float32"),
        ("cpu", 64, 2000, "float32"),
        ("tpu", 64, 8192, "bfloat16"),
        ("gpu", 64, 8192, "bfloat16"),
    ],
)
def test_the_first_experiment_suits_the_machine(platform, cores, size, dtype) -> None:
    experiment = first_on(device(f"{platform}:0"), cores=cores)
    jax, numpy = experiment.cases
    assert (jax.op, jax.size, jax.dtype, jax.mode) == ("matmul", size, dtype, "jit")
    assert (numpy.op, numpy.size, numpy.dtype) == ("matmul", size, "float32")
    assert (numpy.mode, numpy.device, numpy.inputs) == ("numpy", HOST, "host")
    assert experiment.budget == 5.0


MANY = build(
    sizes=(256, 512, 1024, 2048),
    dtypes=("float32", "bfloat16"),
    modes=("jit", "eager"),
    inputs=("host",),
    budget=300.0,
)


@pytest.mark.parametrize(
    ("experiment", "text"),
    [
        (
            first_on(device("cpu:0")),
            "matmul 1000 float32 jit on cpu:0 and NumPy, about 5 s",
        ),
        (
            first_on(*DEVICES),
            "matmul 8192 bfloat16 jit on tpu:0 and NumPy float32, about 5 s",
        ),
        (
            MANY,
            "matmul 256 to 2048 float32, bfloat16 jit, eager on tpu:0 with host inputs,"
            " 16 cases, about 5 min",
        ),
        (
            build(modes=("jit", "numpy", "tensorflow"), budget=10.0),
            "matmul 1000 float32 jit on tpu:0 and NumPy and TensorFlow, 3 cases, about"
            " 10 s",
        ),
        (build(modes=("numpy",)), "matmul 1000 float32 numpy, about 10 s"),
    ],
)
def test_an_experiment_in_a_line(experiment: Experiment, text: str) -> None:
    assert selection.describe(experiment) == text


def outcome(
    parse: Callable[[str], tuple[object, ...]], text: str
) -> tuple[object, ...] | str:
    """What was parsed, or the sentence that refuses it."""
    try:
        return parse(text)
    except SelectionError as error:
        return str(error)


def one_sentence(text: str) -> bool:
    own = re.sub(r'"[^"]*"', "", text)
    return own.endswith(".") and "\n" not in own and not re.search(r"\. [A-Z]", own)
