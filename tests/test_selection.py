"""What people type: accepted texts, refused texts, and the cases that come of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

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


def test_a_refused_size_says_what_is_accepted() -> None:
    with pytest.raises(SelectionError, match=r'^"abc" is no size: .*4096.*256\.\.4096'):
        selection.parse_sizes("12,abc")


def test_a_range_that_runs_downwards_says_how_to_write_it() -> None:
    with pytest.raises(SelectionError, match=r"write 256\.\.4096\."):
        selection.parse_sizes("4096..256")


@given(st.text(max_size=30))
def test_any_text_is_sizes_or_one_sentence(text: str) -> None:
    sizes = outcome(selection.parse_sizes, text)
    if not isinstance(sizes, str):
        assert sizes
        assert len(set(sizes)) == len(sizes)
        assert all(0 < size <= selection.MAXIMUM_SIZE for size in sizes)


@given(st.text("0123456789kKmMgGe+.,- ", max_size=20))
def test_any_text_of_size_characters_is_sizes_or_one_sentence(text: str) -> None:
    sizes = outcome(selection.parse_sizes, text)
    if isinstance(sizes, str):
        assert one_sentence(sizes)
    else:
        assert all(0 < size <= selection.MAXIMUM_SIZE for size in sizes)


@given(st.lists(st.integers(1, selection.MAXIMUM_SIZE), min_size=1, max_size=8))
def test_a_list_of_numbers_is_itself(numbers: list[int]) -> None:
    text = ",".join(map(str, numbers))
    assert selection.parse_sizes(text) == tuple(dict.fromkeys(numbers))


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
    with pytest.raises(SelectionError, match=f'^The budget "{text}" is no time: '):
        selection.parse_budget(text)


# Names.


def test_ops_carry_their_own_sizes() -> None:
    assert selection.parse_ops(["matmul:2k", "selu:1e6,2e6", "sigmoid"], CATALOGUE) == (
        OpChoice("matmul", (2048,)),
        OpChoice("selu", (1_000_000, 2_000_000)),
        OpChoice("sigmoid"),
    )


def test_a_size_behind_an_op_without_its_colon_is_told_apart() -> None:
    with pytest.raises(SelectionError, match="as in matmul:256, or in --size 256"):
        selection.parse_ops(["matmul", "256"], CATALOGUE)


def test_ops_may_be_a_list() -> None:
    chosen = selection.parse_ops(["matmul,SELU"], CATALOGUE)
    assert chosen == (OpChoice("matmul"), OpChoice("selu"))


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (selection.parse_dtypes, "float32,bfloat16", ("float32", "bfloat16")),
        (selection.parse_dtypes, "bf16, F32,float32", ("bfloat16", "float32")),
        (selection.parse_modes, "jit,numpy,jit", ("jit", "numpy")),
        (selection.parse_modes, "Pallas,tensorflow", ("pallas", "tensorflow")),
        (selection.parse_inputs, "host,device", ("host", "device")),
        (selection.parse_precisions, "highest", ("highest",)),
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
        (lambda t: selection.parse_ops([t], CATALOGUE), "matmull", "selu", "matmul"),
        (lambda t: selection.parse_ops([t], CATALOGUE), "matmull:2k", "selu", "matmul"),
        (lambda t: selection.parse_devices(t, DEVICES), "tpuu:1", "tpu:0", "tpu:1"),
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


@pytest.mark.parametrize("text", ["", ",", "float32,,int8"])
def test_an_empty_name_is_refused(text: str) -> None:
    with pytest.raises(SelectionError, match="empty"):
        selection.parse_dtypes(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("tpu:1", ("tpu:1",)),
        ("tpu:1, TPU:0", ("tpu:1", "tpu:0")),
        ("all", ("tpu:0", "tpu:1")),
        ("tpu", ("tpu:0", "tpu:1")),
    ],
)
def test_devices_that_are_there(text: str, names: tuple[str, ...]) -> None:
    assert selection.parse_devices(text, DEVICES) == names


def test_a_device_of_another_process_is_refused_with_its_reason() -> None:
    with pytest.raises(SelectionError, match="tpu:2 belongs to process 1"):
        selection.parse_devices("tpu:2", DEVICES)


def test_the_host_is_no_device() -> None:
    with pytest.raises(SelectionError, match="choose the mode numpy"):
        selection.parse_devices("host", DEVICES)


@given(st.text(max_size=20))
def test_any_text_is_names_or_one_sentence(text: str) -> None:
    parsers = [
        selection.parse_dtypes,
        selection.parse_modes,
        selection.parse_inputs,
        selection.parse_precisions,
        lambda text: selection.parse_devices(text, DEVICES),
        lambda text: selection.parse_ops([text], CATALOGUE),
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


def test_an_ops_own_size_replaces_the_common_one() -> None:
    experiment = build(OpChoice("matmul"), OpChoice("selu", (7,)), sizes=(1, 2))
    assert [(case.op, case.size) for case in experiment.cases] == [
        ("matmul", 1),
        ("matmul", 2),
        ("selu", 7),
    ]


def test_a_dtype_that_an_op_does_not_allow_stays_a_case_and_is_told() -> None:
    experiment = build(
        OpChoice("matmul"), OpChoice("sigmoid"), dtypes=("float32", "int32")
    )
    assert len(experiment.cases) == 4
    assert selection.problems(experiment, CATALOGUE) == (
        "sigmoid does not take int32: it takes float32.",
    )


def test_a_mode_that_an_op_does_not_have_stays_a_case_and_is_told() -> None:
    experiment = build(OpChoice("selu"), modes=("jit", "pallas"))
    assert [case.mode for case in experiment.cases] == ["jit", "pallas"]
    assert selection.problems(experiment, CATALOGUE) == (
        "selu has no mode pallas: it has numpy, eager, jit.",
    )


def test_tensorflow_runs_on_the_host_like_numpy() -> None:
    first, second = build(modes=("tensorflow", "jit")).cases
    assert (first.device, first.inputs, first.on_host) == (HOST, HOST, True)
    assert (second.device, second.on_host) == ("tpu:0", False)


def test_an_op_without_products_has_only_the_default_precision() -> None:
    ops = (OpChoice("matmul"), OpChoice("selu"))
    experiment = build(*ops, precisions=("default", "highest"))
    assert [(case.op, case.precision) for case in experiment.cases] == [
        ("matmul", "default"),
        ("matmul", "highest"),
        ("selu", "default"),
    ]


def test_a_precision_that_no_op_takes_is_refused() -> None:
    with pytest.raises(SelectionError, match="selu takes only default"):
        build(OpChoice("selu"), precisions=("highest",))


def test_no_device_is_refused() -> None:
    with pytest.raises(SelectionError, match="no device"):
        selection.build((OpChoice("matmul"),), catalogue=CATALOGUE, known_devices=())


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
    host = Host(**{**fields(HOST_FACTS), "cpu_count": cores})
    experiment = selection.default_experiment(
        [device(f"{platform}:0")], CATALOGUE, host
    )
    jax, numpy = experiment.cases
    assert (jax.op, jax.size, jax.dtype, jax.mode) == ("matmul", size, dtype, "jit")
    assert (numpy.op, numpy.size, numpy.dtype) == ("matmul", size, "float32")
    assert (numpy.mode, numpy.device, numpy.inputs) == ("numpy", HOST, "host")
    assert experiment.budget == 5.0


def test_describing_the_first_experiment() -> None:
    first = selection.default_experiment([device("cpu:0")], CATALOGUE, HOST_FACTS)
    text = "matmul 1000 float32 jit on cpu:0 and NumPy, about 5 s"
    assert selection.describe(first) == text
    on_tpu = selection.default_experiment(DEVICES, CATALOGUE, HOST_FACTS)
    text = "matmul 8192 bfloat16 jit on tpu:0 and NumPy float32, about 5 s"
    assert selection.describe(on_tpu) == text


def test_describing_many_cases() -> None:
    experiment = build(
        sizes=(256, 512, 1024, 2048),
        dtypes=("float32", "bfloat16"),
        modes=("jit", "eager"),
        inputs=("host",),
        budget=300.0,
    )
    assert selection.describe(experiment) == (
        "matmul 256 to 2048 float32, bfloat16 jit, eager on tpu:0 with host inputs, "
        "16 cases, about 5 min"
    )


def test_describing_tensorflow() -> None:
    text = "matmul 1000 float32 jit on tpu:0 and NumPy and TensorFlow, 3 cases, "
    modes = ("jit", "numpy", "tensorflow")
    assert selection.describe(build(modes=modes)).startswith(text)


def test_describing_numpy_alone() -> None:
    text = "matmul 1000 float32 numpy, about 10 s"
    assert selection.describe(build(modes=("numpy",))) == text


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


def fields(record: Host) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__struct_fields__}
