"""The cases that come of a selection, what is wrong with them, and their number."""

from __future__ import annotations

import re
import sys
import tracemalloc
from typing import Any

import msgspec
import pexpect
import pytest

from jaxtui.core import experiments, selection
from jaxtui.core.experiments import MAXIMUM_CASES
from jaxtui.core.model import (
    HOST,
    Case,
    Device,
    Experiment,
    SelectionError,
)
from jaxtui.core.selection import SizedOp
from jaxtui.ui.progress import describe, extent_text
from tests.core.history.making import HOST as FACTS
from tests.fake_engine import FakeEngine
from tests.golden.test_documents import DOCUMENTS, check_frozen
from tests.processes import FAKE_PYTHON, LIMIT_SECONDS
from tests.records import case, device, op
from tests.ui.commands.fakes import complete, run

CATALOGUE = (
    op("matmul", "float32", "float16", "bfloat16", "int32", takes_precision=True),
    op("selu", "float32", "float16"),
    op("sigmoid", "float32"),
    op("permute", "float32", modes=("jit",), collective=True),
)
DEVICES = (device("tpu:0"), device("tpu:1"), device("tpu:2", addressable=False))
MATMUL, SELU = SizedOp("matmul"), SizedOp("selu")
THREE = ("float32", "float16", "bfloat16")
PAIR = ("jit", "eager")
EVERYWHERE = {"devices": ("tpu:0", "tpu:1"), "inputs": ("device", "host")}


def build(*ops: SizedOp, **options: object) -> Experiment:
    known = {"catalogue": CATALOGUE, "known_devices": DEVICES}
    return experiments.build(ops or (MATMUL,), **{**known, **options})  # type: ignore[arg-type]


def matmul(**changes: Any) -> Case:
    return case(**{"op": "matmul", "device": "tpu:0", **changes})


def first_on(*devices: Device, cores: int | None = 2) -> Experiment:
    host = msgspec.structs.replace(FACTS, cpu_count=cores)
    return experiments.default_experiment(devices, CATALOGUE, host)


@pytest.mark.parametrize(
    ("size", "dispatch", "work", "fitting"),
    [
        (1000, 1e-4, 20e-3, 1000),  # a VM with two cores
        (1000, 1e-4, 1.9e-3, 1500),
        (4000, 125e-6, 537e-6, 8000),  # an H100
        (4000, 1.0, 1e-9, 16_384),  # the largest
        (1000, 0.1, 0.2, 1000),  # a busy machine
        (4000, 1e-4, 0.0, 4000),
    ],
)
def test_the_work_takes_twenty_dispatches(
    size: int, dispatch: float, work: float, fitting: int
) -> None:
    assert experiments.fitting_size(size, dispatch, work) == fitting


def test_defaults_are_the_plain_case_and_the_host_has_a_case_once() -> None:
    assert build().cases == (matmul(),)
    modes = ("numpy", "jit", "tensorflow")
    cases = build(modes=modes, precisions=("default", "highest"), **EVERYWHERE).cases
    on_host = [one for one in cases if one.on_host]
    assert on_host == [
        matmul(device=HOST, mode=mode, inputs="host")
        for mode in ("numpy", "tensorflow")
    ]
    assert len(cases) == 2 + 2 * 2 * 2


def test_all_devices_are_each_of_them_and_all_at_once() -> None:
    every = selection.parse_devices("all", DEVICES)
    cases = build(devices=every, modes=PAIR, inputs=("device", "host")).cases
    # Of this process, and only where they can work at once.
    together = [one for one in cases if one.device == "tpu:0-1"]
    assert [(one.mode, one.inputs) for one in together] == [("jit", "device")]
    assert len(cases) == 2 * 2 * 2 + 1
    typed = build(devices=("tpu:0-1",), modes=PAIR).cases
    assert [one.mode for one in typed] == [*PAIR]


def test_a_collective_runs_on_all_devices() -> None:
    permute = SizedOp("permute")
    for devices in (None, selection.parse_devices("all", DEVICES)):
        both = build(permute, MATMUL, devices=devices)
        (collective,) = (one for one in both.cases if one.op == "permute")
        assert (collective.device, collective.params) == ("tpu:0-2", None)
    meshed = build(permute, MATMUL, mesh=selection.parse_mesh("1x3@y"))
    assert [one.params for one in meshed.cases] == [{"mesh": "1x3", "axes": "y"}, None]
    misfit = build(permute, mesh=selection.parse_mesh("3x4"))
    (remark,) = experiments.refusals(misfit, CATALOGUE)
    assert remark.code == "mesh-misfit"


def test_cases_come_in_the_order_of_the_lists_and_ops_keep_their_sizes() -> None:
    experiment = build(
        *(MATMUL, SizedOp("selu", (7,))),
        sizes=(1, 2),
        dtypes=("float32", "float16"),
        modes=("numpy", "jit"),
        precisions=("default", "highest"),
    )
    found = [(x.op, x.size, x.dtype, x.mode, x.precision) for x in experiment.cases]
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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precisions": ("highest",), "ops": SELU}, "selu takes only default"),
        ({"known_devices": ()}, "JAX has no device"),
        ({"dtypes": ()}, "Nothing is selected"),
    ],
)
def test_a_selection_without_a_case_is_refused(options: Any, said: str) -> None:
    op = options.pop("ops", MATMUL)
    with pytest.raises(SelectionError, match=said):
        build(op, **options)


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
def test_the_first_experiment_suits_the_machine(
    platform: str, cores: int | None, size: int, dtype: str
) -> None:
    experiment = first_on(device(f"{platform}:0"), cores=cores)
    assert experiment.cases == (
        matmul(size=size, dtype=dtype, device=f"{platform}:0"),
        matmul(size=size, device=HOST, mode="numpy", inputs="host"),
    )
    assert experiment.budget == 5.0


EXPERIMENTS = (
    build(),
    first_on(*DEVICES),
    build(
        sizes=(256, 512, 1024, 2048),
        dtypes=("float32", "bfloat16"),
        modes=PAIR,
        inputs=("host",),
        budget=300.0,
    ),
    build(modes=("jit", "numpy", "tensorflow"), budget=10.0),
    build(sizes=range(101), budget=5.0),
    # Who has typed how long it may take need not be told.
    build(budget=3600.0),
    build(SizedOp("matmul", (1, 2, 3)), SELU, sizes=(5, 6), modes=PAIR),
    # NumPy runs once, whatever it is combined with.
    build(sizes=range(100), modes=("jit", "numpy"), **EVERYWHERE),
    Experiment(
        cases=(
            matmul(op="own", size=1, dtype=""),
            *build(sizes=(1, 2), dtypes=THREE).cases,
        )
    ),
    build(sizes=(1, 2), processes=10, budget=40.0),
    # What an op does not take stays a case.
    build(MATMUL, SizedOp("sigmoid"), dtypes=("float32", "int32")),
    build(SELU, modes=("jit", "pallas")),
)


def test_an_experiment_in_a_line_its_extent_and_what_is_refused_of_it() -> None:
    lines = []
    for experiment in EXPERIMENTS:
        extent = experiments.extent(experiment)
        asked = "asked about" if extent.is_large else "not asked about"
        lines += [describe(experiment), f"  {extent_text(extent)}: {asked}"]
        refused = experiments.refusals(experiment, (*CATALOGUE, op("own", "")))
        lines += [f"  {one.code} {one.facts}" for one in refused]
    check_frozen(DOCUMENTS / "experiments.txt", "\n".join(lines) + "\n")


def test_a_long_run_is_asked_about_whatever_it_consists_of() -> None:
    for seconds in (300.0, 301.0):
        assert experiments.Extent(cases=1, seconds=seconds).is_large == (seconds > 300)


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
    counts = ("2", "1,000", "4", "3", "64", "3", "2", "9,216,000", "4,104,000")
    assert tuple(re.findall(r"\d[\d,]*", str(refused.value))) == (*counts, "10,000")
    assert peak < 5e6
    # Where NumPy repeats there is nothing to refuse, nor to wait for.
    devices = [f"tpu:{number}" for number in range(1000)]
    sizes = range(1, MAXIMUM_CASES + 1)
    built = build(sizes=sizes, devices=devices, modes=("numpy",))
    assert len(built.cases) == MAXIMUM_CASES


def test_without_a_terminal_a_long_run_needs_yes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    typed = ("bench", "selu", "--size", "1..1e6x1.05", "--json", "--no-history")
    engine = FakeEngine(complete)
    assert run(engine, *typed) == 64
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("jaxtui: 2")
    assert "--yes" in err
    assert engine.works == []
    assert "close" in engine.calls
    assert run(engine, *typed, "--yes") == 0
    assert len(engine.works[0].cases) > 200
    # A line tells how long, since none shows how far it is.
    assert "243 cases, about 8.1 min." in capsys.readouterr().err


def test_on_a_terminal_a_long_run_is_asked_about() -> None:
    sizes = ",".join(map(str, range(1, 102)))
    words = ("bench", "quick", "--size", sizes, "--budget", "1", "--no-history")
    with pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", *words, "--python", FAKE_PYTHON],
        encoding="utf-8",
        dimensions=(40, 200),
        timeout=LIMIT_SECONDS,
    ) as child:
        child.expect(r"101 sizes.* = \d+ cases.* Go on\?")
        child.send("y\r")
        # What follows is a run like any other.
        child.expect("quick · float32")
        child.expect(pexpect.EOF)
    assert child.exitstatus == 0
