"""What people type: accepted texts, refused texts, and the cases that come of them."""

from __future__ import annotations

import re
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise

import msgspec
import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui import experiments, selection
from jaxtui.experiments import MAXIMUM_CASES
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
    SelectionError,
)
from jaxtui.selection import SizedOp
from tests.commands.fakes import FakeEngine, run
from tests.processes import FAKE_PYTHON, LIMIT_SECONDS


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
MATMUL, SELU = SizedOp("matmul"), SizedOp("selu")


def build(*ops: SizedOp, **options: object) -> Experiment:
    known = {"catalogue": CATALOGUE, "known_devices": DEVICES}
    return experiments.build(ops or (MATMUL,), **{**known, **options})  # type: ignore[arg-type]


def matmul(**changes: object) -> Case:
    facts = {"op": "matmul", "size": 1000, "dtype": "float32", "device": "tpu:0"}
    return Case(**{**facts, "mode": "jit", **changes})  # type: ignore[arg-type]


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
    sentence = outcome(selection.parse_sizes, text)
    assert isinstance(sentence, str)
    assert one_sentence(sentence)
    if text.strip() and len(text) < 50:
        assert text.strip().strip(",") in sentence


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


# Budgets and names.


def parse_op(*texts: str) -> tuple[SizedOp, ...]:
    return selection.parse_ops(texts, CATALOGUE)


def parse_devices(text: str) -> tuple[str, ...]:
    return selection.parse_devices(text, DEVICES)


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (selection.parse_budget, "", None),
        (selection.parse_budget, " 10 ", 10.0),
        (selection.parse_budget, "2.5s", 2.5),
        (selection.parse_budget, "1e2", 100.0),
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
        (parse_op, "matmul:2k", (SizedOp("matmul", (2048,)),)),
        (parse_op, "selu:1e6,2e6", (SizedOp("selu", (10**6, 2 * 10**6)),)),
        (parse_op, "matmul,SELU", (MATMUL, SELU)),
    ],
)
def test_what_is_accepted(parse, text: str, expected: object) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("parse", "text", "exists", "nearest"),
    [
        (selection.parse_dtypes, "flaot32", "complex64", "float32"),
        (selection.parse_modes, "jti", "jit, pallas, tensorflow", "jit"),
        (selection.parse_inputs, "devcie", "device, host", "device"),
        (selection.parse_precisions, "hihgest", "default, high, highest", "highest"),
        (parse_op, "matmull:2k", "selu", "matmul"),
        (parse_devices, "tpuu:1", "tpu:0", "tpu:1"),
    ],
)
def test_an_unknown_name_says_what_exists_and_suggests(
    parse, text: str, exists: str, nearest: str
) -> None:
    sentence = outcome(parse, text)
    assert isinstance(sentence, str)
    assert f'"{text.split(":2k")[0]}"' in sentence
    assert exists in sentence
    assert sentence.endswith(f"Did you mean {nearest}?")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        *(
            (
                lambda text=text: selection.parse_budget(text),
                f'"{text}" is not a time: ',
            )
            for text in ("0", "-1", "nan", "inf", "soon", "1e9", "5 min")
        ),
        (lambda: selection.parse_sizes("12,abc"), '^"abc" is not a size: .*4096'),
        (lambda: selection.parse_sizes("4096..256"), r"write 256\.\.4096\."),
        (lambda: selection.parse_dtypes(""), "empty"),
        (lambda: selection.parse_dtypes(","), "empty"),
        (lambda: selection.parse_dtypes("float32,,int8"), "empty"),
        (lambda: parse_op("matmul", "256"), "as in matmul:256, or in --size 256"),
        (lambda: parse_devices("tpu:2"), "tpu:2 belongs to process 1"),
        (lambda: parse_devices("host"), "choose the mode numpy"),
        (lambda: build(SELU, precisions=("highest",)), "selu takes only default"),
        (lambda: build(known_devices=()), "no device"),
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


def test_defaults_are_the_plain_case_and_the_host_has_a_case_once() -> None:
    assert build().cases == (matmul(),)
    experiment = build(
        devices=("tpu:0", "tpu:1"),
        modes=("numpy", "jit", "tensorflow"),
        inputs=("device", "host"),
        precisions=("default", "highest"),
    )
    on_host = [case for case in experiment.cases if case.on_host]
    assert on_host == [
        matmul(device=HOST, mode=mode, inputs="host")
        for mode in ("numpy", "tensorflow")
    ]
    assert len(experiment.cases) == 2 + 2 * 2 * 2


def test_what_an_op_does_not_take_stays_a_case_and_is_told() -> None:
    experiment = build(MATMUL, SizedOp("sigmoid"), dtypes=("float32", "int32"))
    assert len(experiment.cases) == 4
    assert experiments.problems(experiment, CATALOGUE) == (
        "sigmoid does not take int32: it takes float32.",
    )
    experiment = build(SELU, modes=("jit", "pallas"))
    assert [case.mode for case in experiment.cases] == ["jit", "pallas"]
    assert experiments.problems(experiment, CATALOGUE) == (
        "selu has no mode pallas: it has numpy, eager, jit.",
    )


def test_cases_come_in_the_order_of_the_lists_and_ops_keep_their_sizes() -> None:
    ops = (MATMUL, SizedOp("selu", (7,)))
    experiment = build(
        *ops,
        sizes=(1, 2),
        dtypes=("float32", "float16"),
        modes=("numpy", "jit"),
        precisions=("default", "highest"),
    )
    found = [
        (case.op, case.size, case.dtype, case.mode, case.precision)
        for case in experiment.cases
    ]
    assert found[:4] == [
        ("matmul", 1, "float32", "numpy", "default"),
        ("matmul", 1, "float32", "jit", "default"),
        ("matmul", 1, "float32", "jit", "highest"),
        ("matmul", 1, "float16", "numpy", "default"),
    ]
    assert found[-2:] == [
        ("selu", 7, "float16", "numpy", "default"),
        ("selu", 7, "float16", "jit", "default"),
    ]
    assert len(found) == 2 * 2 * 3 + 2 * 2


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
    return experiments.default_experiment(devices, CATALOGUE, host)


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
    name = f"{platform}:0"
    experiment = first_on(device(name), cores=cores)
    assert experiment.cases == (
        matmul(size=size, dtype=dtype, device=name),
        matmul(size=size, device=HOST, mode="numpy", inputs="host"),
    )
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
    assert experiments.describe(experiment) == text


# How much it is: counted before it is made, said, and asked about.

THREE = ("float32", "float16", "bfloat16")
PAIR = ("jit", "eager")
EVERYWHERE = {"devices": ("tpu:0", "tpu:1"), "inputs": ("device", "host")}
OWN = matmul(op="own", size=1, dtype="")


@pytest.mark.parametrize(
    ("experiment", "large", "said"),
    [
        (build(), False, "1 case, about 10 s"),
        (build(sizes=range(1, 41)), False, "40 sizes = 40 cases, about 40 s"),
        (build(sizes=range(100)), False, "100 sizes = 100 cases, about 100 s"),
        (
            build(sizes=range(101), budget=5.0),
            True,
            "101 sizes = 101 cases, about 5 s, 50 ms for each",
        ),
        # Who has typed how long it may take need not be told.
        (build(budget=3600.0), False, "1 case, about 60 min"),
        (
            build(MATMUL, SELU, sizes=range(40), dtypes=THREE, modes=(*PAIR, "numpy")),
            True,
            "2 ops × 40 sizes × 3 dtypes × 3 modes = 720 cases, about 12 min",
        ),
        (
            build(SizedOp("matmul", (1, 2, 3)), SELU, sizes=(5, 6), modes=PAIR),
            False,
            "5 sizes of 2 ops × 2 modes = 10 cases, about 10 s",
        ),
        # NumPy runs once, whatever it is combined with.
        (
            build(sizes=range(100), modes=("jit", "numpy"), **EVERYWHERE),
            True,
            "100 sizes × 2 devices × 2 modes × 2 places for inputs = 800 combinations,"
            " 500 cases in all, about 8.33 min",
        ),
        (
            build(sizes=range(5000), modes=PAIR),
            True,
            "5,000 sizes × 2 modes = 10,000 cases, about 2.8 h",
        ),
        (
            Experiment(cases=(OWN, *build(sizes=(1, 2), dtypes=THREE).cases)),
            False,
            "7 pairs of size and dtype for 2 ops = 7 cases, about 10 s",
        ),
    ],
)
def test_what_multiplies_is_said_and_much_is_asked_about(
    experiment: Experiment, large: bool, said: str
) -> None:
    extent = experiments.extent(experiment)
    assert (extent.text, extent.is_large) == (said, large)


def test_a_long_run_is_asked_about_whatever_it_consists_of() -> None:
    assert experiments.Extent(cases=1, multiplied="1 case", seconds=301.0).is_large
    assert not experiments.Extent(cases=1, multiplied="1 case", seconds=300.0).is_large


def test_what_explodes_is_refused_before_a_case_is_made() -> None:
    many = tuple(device(f"tpu:{number}") for number in range(64))
    tracemalloc.start()
    try:
        with pytest.raises(SelectionError) as refused:
            build(
                *(MATMUL, SELU),
                sizes=tuple(range(1, 1001)),
                dtypes=("float64", *THREE),
                devices=[one.name for one in many],
                modes=(*PAIR, "numpy"),
                inputs=("device", "host"),
                precisions=("default", "high", "highest"),
                known_devices=many,
            )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert str(refused.value) == (
        "2 ops × 1,000 sizes × 4 dtypes × 3 precisions × 64 devices × 3 modes × "
        "2 places for inputs = 9,216,000 combinations, 4,104,000 cases in all: one run"
        " has at most 10,000; shorten a list."
    )
    assert peak < 5e6


def test_as_many_as_there_may_be() -> None:
    sizes = range(1, MAXIMUM_CASES + 1)
    with pytest.raises(SelectionError, match="at most 10,000"):
        build(sizes=sizes, modes=PAIR)
    # Where NumPy repeats there is nothing to refuse, nor to wait for.
    devices = [f"tpu:{number}" for number in range(1000)]
    built = build(sizes=sizes, devices=devices, modes=("numpy",))
    assert len(built.cases) == MAXIMUM_CASES


def test_without_a_terminal_a_long_run_needs_yes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    typed = ("bench", "selu", "--size", "1..1e6x1.05", "--json", "--no-history")
    engine = FakeEngine()
    assert run(engine, *typed) == 64
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("jaxtui: 2")
    assert err.endswith(" min: add --yes if it is meant.\n")
    assert not engine.asked
    assert engine.closed
    assert run(engine, *typed, "--yes") == 0
    assert len(engine.asked[0].cases) > 200


@pytest.fixture
def asked() -> Iterator[pexpect.spawn]:
    """The command in a terminal, at its question."""
    sizes = ",".join(map(str, range(1, 102)))
    few = ("quick", "--size", sizes, "--budget", "1", "--no-history")
    child = pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", "bench", *few, "--python", FAKE_PYTHON],
        encoding="utf-8",
        dimensions=(40, 200),
        timeout=LIMIT_SECONDS,
    )
    child.expect(r"101 sizes.* = \d+ cases.* Go on\?")
    yield child
    child.close(force=True)


def test_whatever_is_no_yes_measures_nothing(asked: pexpect.spawn) -> None:
    asked.send("\x04")
    asked.expect("Nothing was measured.")
    asked.expect(pexpect.EOF)
    asked.close()
    assert asked.exitstatus == 1


def test_yes_goes_on(asked: pexpect.spawn) -> None:
    asked.send("y\r")
    # What follows is a run like any other.
    asked.expect("quick +1 +float32")
