"""Whole experiments on real JAX on CPU: every case a measurement or a named failure."""

from __future__ import annotations

import gc
import mmap
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.measure import ops, runtime, workload
from jaxtui.measure.clocks import Block
from jaxtui.measure.experiment import groups, run
from jaxtui.measure.measurement import Record, thin
from jaxtui.measure.turns import Turns
from jaxtui.model import (
    Case,
    CaseStarted,
    Failure,
    Measurement,
    PlannedCase,
    ProcessWarmedUp,
    Progress,
    RunEvent,
    RunFinished,
    RunStarted,
    Sampled,
)
from tests.apart import in_a_thread
from tests.measure.running import (
    case,
    endings,
    experiment,
    flags,
    measured,
    outcomes,
)

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Puts a changed copy of an op into the catalogue for one test."""

    def plant(of: str, **changes: Any) -> str:
        name = f"planted_{of}"
        monkeypatch.setitem(ops.OPS, name, replace(ops.get(of), name=name, **changes))
        return name

    return plant


USUAL = {
    "jit": case("selu", 5000),
    "eager": case("selu", 5000, "eager"),
    "numpy": case("selu", 5000, "numpy"),
    "tiny": case("add", 8),
    "product": case("matmul", 512),
    "bfloat16": case("matmul", 64, "numpy", "bfloat16"),
    "single": case("matmul", 64),
    "double": case("matmul", 64, dtype="float64"),
    "again": case("matmul", 64),
    "second": case("matmul", 64, device="cpu:1"),
}
"""Cases of which nothing is wrong; they run once for many tests."""


@pytest.fixture(scope="module")
def usual() -> dict[str, Measurement]:
    found = measured(*USUAL.values(), keep_samples=True)
    return dict(zip(USUAL, found, strict=True))


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("tiny", ("host-bound", "aliased"), ("folded", "x64")),
        ("product", ("simulated",), ("inline", "folded", "queue-full")),
        ("single", (), ("implicit-transfer", "x64", "numpy-dtype")),
        ("double", ("x64",), ()),
        ("bfloat16", ("numpy-dtype",), ("host-bound",)),
        ("numpy", (), ("simulated", "host-bound")),
    ],
)
def test_notes_are_those_of_a_case(
    usual: dict[str, Measurement],
    name: str,
    has: tuple[str, ...],
    lacks: tuple[str, ...],
) -> None:
    found = flags(usual[name])
    assert {*has} <= {*found}
    assert not {*lacks} & {*found}


def test_what_questions_the_number_stands_before_what_explains_the_phases(
    usual: dict[str, Measurement],
) -> None:
    order = flags(usual["tiny"])
    assert order.index("host-bound") < order.index("aliased")
    assert usual["tiny"].flops_per_second is None
    assert usual["tiny"].bytes_per_second is None


def test_every_mode_has_the_phases_that_it_has_and_no_others(
    usual: dict[str, Measurement],
) -> None:
    eager, jit, numpy = (usual[name] for name in ("eager", "jit", "numpy"))
    fields = jit.phases.__struct_fields__
    assert all(getattr(jit.phases, name) is not None for name in fields)
    assert eager.phases.compile is None
    assert eager.phases.trace is None
    assert eager.phases.first_call
    assert numpy.phases.transfer is None
    assert numpy.phases.fetch is None
    assert numpy.dispatch is None
    assert numpy.pipelined_seconds is None
    assert numpy.case.device == "host"
    assert usual["second"].case.device == "cpu:1"


def test_float64_runs_in_64_bits_without_touching_its_neighbours(
    usual: dict[str, Measurement],
) -> None:
    single, double, again = (usual[name] for name in ("single", "double", "again"))
    assert double.output_dtype == "float64"
    assert double.error_vs_float64 is not None
    assert double.error_vs_float64 < 1e-12
    assert single.output_dtype == again.output_dtype == "float32"
    assert usual["bfloat16"].output_dtype == "float32"
    assert single.error_vs_float64
    assert single.error_vs_float64 > 1e-9
    assert not jax.config.jax_enable_x64


def test_samples_are_kept_only_when_asked_for(usual: dict[str, Measurement]) -> None:
    (bare,) = measured(case("matmul", 64))
    kept = usual["single"]
    assert not bare.samples
    assert kept.samples
    assert kept.ready
    assert len(kept.samples.ready) == kept.ready.n
    assert kept.samples.dispatch
    assert len(kept.samples.dispatch) == kept.ready.n


def test_the_order_of_events() -> None:
    cases = case("matmul", 64), case("matmul", 64, "numpy")
    found = list(run(experiment(*cases)))
    assert isinstance(found[0], RunStarted)
    assert isinstance(found[-1], RunFinished)
    assert found[-1].outcome == "complete"
    started: set[int] = set()
    outside = RunStarted | RunFinished | Progress | ProcessWarmedUp
    for event in found:
        if isinstance(event, CaseStarted):
            started.add(event.index)
        elif not isinstance(event, outside):
            assert event.index in started
    assert len(endings(found)) == 2


def test_eager_first_call_is_cold_every_time(usual: dict[str, Measurement]) -> None:
    (again,) = measured(case("selu", 5000, "eager"))
    assert again.phases.first_call
    # Six kernels are compiled; a warm first call would take microseconds.
    assert again.phases.first_call > 20 * again.ready.median  # type: ignore[union-attr]


def test_the_same_case_twice_compiles_twice(usual: dict[str, Measurement]) -> None:
    once, twice = usual["single"].phases.compile, usual["again"].phases.compile
    assert once
    assert twice
    assert twice > 0.2 * once
    function, x = ops.get("selu").bind(), jnp.ones(5000)
    taken = []
    for _ in range(5):
        start = perf_counter()
        jax.jit(function).lower(x).compile()
        taken.append(perf_counter() - start)
    assert min(taken) < 0.2 * once


def test_a_closed_over_constant_is_called_folded_and_gets_no_rate(
    planted: Callable[..., str],
) -> None:
    constant = np.random.default_rng(0).standard_normal((128, 128), np.float32)

    def closed(a: jax.Array, b: jax.Array, precision: object = None) -> jax.Array:
        return jnp.asarray(constant) @ jnp.asarray(constant)

    (folded,) = measured(case(planted("matmul", jax=closed), 128))
    assert "folded" in flags(folded)
    assert folded.flops_per_second is None


def test_an_inline_op_is_called_inline(planted: Callable[..., str]) -> None:
    exponential = planted(
        "sigmoid",
        jax=jnp.exp,
        numpy=np.exp,
        reference=lambda rows, x: np.exp(x.astype(np.float64)[rows]),
    )
    (inline,) = measured(case(exponential, 1_000_000))
    said = {note.flag: note.text for note in inline.notes}
    assert "nothing to overlap" in said["inline"]


def test_dispatch_of_a_large_product_is_far_below_ready() -> None:
    least = {"dispatch": 1.0, "ready": 1.0}
    # A machine that is busy hands over as quickly as it can in some calls only.
    for _ in range(10):
        (product,) = measured(case("matmul", 1000), keep_samples=True)
        assert product.samples
        for clock in least:
            least[clock] = min(least[clock], *getattr(product.samples, clock))
        if least["dispatch"] * 20 < least["ready"]:
            break
    assert least["dispatch"] * 20 < least["ready"]


def test_memory_that_is_new_in_every_call_is_said(planted: Callable[..., str]) -> None:
    def fresh(x: np.ndarray) -> np.ndarray:
        pages = np.frombuffer(mmap.mmap(-1, x.nbytes), x.dtype)
        pages[...] = x
        return pages

    name = planted("copy", numpy=fresh)
    faulting, usual = measured(
        case(name, 1_000_000, "numpy"), case("copy", 1_000_000, "numpy")
    )
    assert "page-faults" in flags(faulting)
    assert "page-faults" not in flags(usual)


def test_float64_without_its_scope_is_a_failure_not_a_float32_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workload, "enable_x64", lambda dtype: nullcontext())
    wrong, right = outcomes(case("matmul", 64, dtype="float64"), case("matmul", 64))
    assert isinstance(wrong, Failure)
    assert "float64" in wrong.error + wrong.detail
    assert "float32" in wrong.error + wrong.detail
    assert isinstance(right, Measurement)


@in_a_thread
def test_an_error_that_surfaces_at_block_is_a_named_failure_and_the_rest_goes_on(
    planted: Callable[..., str],
) -> None:
    def raising(x: np.ndarray) -> np.ndarray:
        raise ValueError("the planted fault")

    def broken(x: jax.Array) -> jax.Array:
        return jax.pure_callback(raising, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    name = planted("sigmoid", jax=broken)
    wrong, right = outcomes(case(name, 5000), case("sigmoid", 5000))
    assert isinstance(wrong, Failure)
    assert "the planted fault" in wrong.detail
    assert "\n" not in wrong.error
    assert isinstance(right, Measurement)


def test_an_argument_that_is_sent_every_call_is_called_an_implicit_transfer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workload, "send", lambda hosts, device: hosts)
    (sent,) = measured(case("matmul", 64))
    assert "implicit-transfer" in flags(sent)


def test_bursts_beyond_the_queue_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Turns, "_plan_burst", lambda self: (16, 48))
    (full,) = measured(case("matmul", 256))
    assert "queue-full" in flags(full)


def test_a_wrong_result_is_said(planted: Callable[..., str]) -> None:
    name = planted("sigmoid", jax=lambda x: jnp.tanh(x) + 0 * x)
    (wrong,) = measured(case(name, 5000))
    assert "inaccurate" in flags(wrong)


def test_host_inputs_are_sent_at_every_call_also_in_eager() -> None:
    for mode in ("jit", "eager"):
        resident, sent = measured(
            case("add", 2_000_000, mode),  # type: ignore[arg-type]
            case("add", 2_000_000, mode, inputs="host"),  # type: ignore[arg-type]
        )
        assert sent.ready
        assert resident.ready
        # 16 MB are copied in each call.
        assert sent.ready.median > 1.5 * resident.ready.median
        assert sent.output_dtype == "float32"


def test_a_slow_numpy_case_is_estimated_and_refused_before_it_runs() -> None:
    slow, quick = outcomes(
        case("matmul", 3000, "numpy", "float16"), case("matmul", 64), budget=1.0
    )
    assert isinstance(slow, Failure)
    assert slow.estimated_seconds
    assert "--budget" in slow.hint
    assert isinstance(quick, Measurement)


def test_absurd_sizes_and_unknown_names_are_failures_before_anything_is_allocated() -> (
    None
):
    *failed, fine = outcomes(
        case("matmul", 10_000_000),
        case("matmull", 10),
        case("sigmoid", 10, dtype="int8"),
        case("matmul", 10, device="tpu:7"),
        case("add", 10),
    )
    for one, words in zip(failed, ("PiB", "matmul", "int8", "tpu:7"), strict=True):
        assert isinstance(one, Failure)
        assert words in f"{one.error} {one.hint}", one
    assert isinstance(fine, Measurement)


def test_stop_ends_the_run_within_a_turn_and_keeps_what_had_arrived() -> None:
    found: list[RunEvent] = []

    def turns() -> int:
        return sum(isinstance(event, Sampled) for event in found)

    asked = experiment(
        case("matmul", 64), case("add", 1000), budget=60, target_half_width=0
    )
    for event in run(asked, stop=lambda: turns() >= 2):
        found.append(event)  # noqa: PERF402  (what has arrived decides the end)
    assert turns() == 2
    ended = endings(found)
    assert len(ended) == 2
    kept = [one for one in ended if isinstance(one, Measurement)]
    assert kept
    assert all(one.stopped == "cancelled" for one in kept)
    assert isinstance(found[-1], RunFinished)
    assert found[-1].outcome == "cancelled"


@pytest.mark.parametrize("enabled", [True, False])
def test_closing_the_generator_ends_the_run_and_leaves_the_collector_as_it_was(
    enabled: bool,
) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        generator = run(experiment(case("matmul", 64)))
        next(generator)
        assert not gc.isenabled()
        generator.close()  # type: ignore[attr-defined]
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_few_rounds_are_said() -> None:
    (found,) = measured(case("matmul", 1500), budget=0.2, target_half_width=0)
    assert found.ready
    if found.ready.rounds < 6:
        assert "few-rounds" in flags(found)
        assert not found.stable
    assert found.stopped == "budget"


def test_the_points_of_a_turn_are_thinned_but_keep_the_extremes() -> None:
    ready = [1.0 + (i % 7) / 10 for i in range(1999)]
    ready[1234], ready[77] = 50.0, 0.1
    dispatch, kept = thin(Block([r / 2 for r in ready], ready), 200)
    assert len(kept) <= 200
    assert max(kept) == 50.0
    assert min(kept) == 0.1
    assert [r / 2 for r in kept] == list(dispatch)


def test_calls_that_are_left_out_of_the_points_are_in_the_bins() -> None:
    found = run(experiment(case("add", 10)))
    turns = [one for one in found if isinstance(one, Sampled)]
    assert any(turn.ready_bins for turn in turns)
    for turn in turns:
        if turn.ready_bins is None:
            assert len(turn.ready) == turn.calls
        else:
            assert sum(turn.ready_bins.values()) == turn.calls


def planned(size: int) -> PlannedCase:
    needs: dict[str, Any] = {"memory_bytes": 0, "host_memory_bytes": 0}
    return PlannedCase(case=case("add", size), flops=None, bytes=None, **needs)


def test_short_memory_runs_sizes_one_after_another() -> None:
    cases = [(0, planned(8)), (1, planned(4)), (2, planned(8))]
    assert groups(cases, grouped=False) == [cases]
    by_size = [[index for index, _ in group] for group in groups(cases, grouped=True)]
    assert by_size == [[1], [0, 2]]
    assert groups([], grouped=False) == []


def test_every_device_has_a_dispatch_floor_and_a_queue_of_its_own() -> None:
    first, second = jax.devices()[:2]
    known = runtime.of(first)
    other = runtime.of(second)
    assert runtime.of(first) is known
    assert runtime.of(second) is other
    assert other is not known
    assert runtime.is_warm(second)


def test_summing_up_is_left_out_after_most_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    summed = Record.measurement

    def counting(self: Record, *args: Any, **more: Any) -> Measurement:
        made.append(len(self.turns.rounds))
        return summed(self, *args, **more)

    monkeypatch.setattr(Record, "measurement", counting)
    one = Case(op="add", size=8, dtype="float32", device="host", mode="numpy")
    host = workload.Workload(case=one, call=len, on_return=True)
    turns = Turns(host)
    record = Record(0, host, turns, None)
    for _ in range(64):
        turns.rounds.append(Block([], [1.0, 2.0]))
        turns.medians.append(1.5)
        turns.page_faults.append(0.0)
        assert record.sampled().round == len(turns.rounds)
    assert made[:10] == [*range(1, 9), 9, 10]
    assert len(made) < 40
