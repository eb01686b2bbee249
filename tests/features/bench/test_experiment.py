"""Whole experiments on real JAX on CPU: every case a measurement or a named failure."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.core.model import (
    Case,
    Experiment,
    Failure,
    Measurement,
    PlannedCase,
    Progress,
    RunEvent,
    RunFinished,
    Sampled,
)
from jaxtui.core.model import cases as cases_module
from jaxtui.core.stats import MINIMUM_ROUNDS
from jaxtui.features.bench.measure import experiment as module
from jaxtui.features.bench.measure import measurement, planning
from jaxtui.features.bench.measure.experiment import groups, run
from jaxtui.features.bench.measure.measurement import thin
from jaxtui.tasks import devices, workload
from jaxtui.timing import coldpath
from jaxtui.timing.clocks import Block
from jaxtui.timing.pace import ALONE
from jaxtui.timing.turns import Turns, is_due
from jaxtui.ui import words
from tests.apart import in_a_thread
from tests.tasks.running import (
    case,
    endings,
    experiment,
    facts,
    measured,
    outcomes,
    own,
)

pytestmark = pytest.mark.usefixtures("brief")

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
NOTES = {
    "tiny": ("inline host-bound aliased", "folded x64"),
    "product": ("simulated", "inline folded queue-full"),
    "single": ("", "implicit-transfer x64 numpy-dtype"),
    "double": ("x64", ""),
    "bfloat16": ("numpy-dtype", "host-bound"),
    "numpy": ("", "simulated host-bound"),
}
"""What a case must have, in this order, and what it must not."""


def test_cases_of_which_nothing_is_wrong() -> None:
    usual = dict(zip(USUAL, measured(*USUAL.values()), strict=True))
    for name, (has, lacks) in NOTES.items():
        found = [*facts(usual[name].notes)]
        # What questions the number stands before what explains the phases.
        assert [flag for flag in found if flag in has.split()] == has.split(), name
        assert not {*lacks.split()} & {*found}, name
    assert usual["tiny"].flops_per_second is usual["tiny"].bytes_per_second is None

    # Every mode has the phases that it has and no others.
    eager, jit, numpy = (usual[name] for name in ("eager", "jit", "numpy"))
    fields = jit.phases.__struct_fields__
    assert all(getattr(jit.phases, name) is not None for name in fields)
    assert eager.phases.compile is eager.phases.trace is None
    assert eager.ready
    # Six kernels are compiled; a warm first call would take microseconds.
    assert (eager.phases.first_call or 0) > 20 * eager.ready.median
    assert numpy.phases.transfer is numpy.phases.fetch is None
    assert numpy.dispatch is None
    assert numpy.pipelined_seconds is None
    assert numpy.case.device == "host"
    assert usual["second"].case.device == "cpu:1"

    # float64 runs in 64 bits without touching its neighbours.
    single, double, again = (usual[name] for name in ("single", "double", "again"))
    assert double.output_dtype == "float64"
    assert double.error_vs_float64 is not None
    assert double.error_vs_float64 < 1e-12
    assert single.output_dtype == again.output_dtype == "float32"
    assert usual["bfloat16"].output_dtype == "float32"
    assert (single.error_vs_float64 or 0) > 1e-9
    assert not jax.config.values["jax_enable_x64"]


def compilations() -> list[str]:
    """What XLA compiles from now on."""
    compiled: list[str] = []

    def listen(event: str, duration_secs: float, **__: str | int) -> None:
        if "backend_c" in event:
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    return compiled


def test_every_case_compiles_anew_and_sizes_of_a_function_compile_once_each(
    write: Callable[..., str],
) -> None:
    path = write("import jax\n\n@jax.jit\ndef heavy(x):\n    return x @ x\n")
    compiled = compilations()

    def count(*cases: Case) -> int:
        compiled.clear()
        measured(*cases)
        return len(compiled)

    def heavy(*sizes: int) -> int:
        return count(*(own("heavy", f"f32[{n},{n}]", file=path) for n in sizes))

    one = case("matmul", 64)
    count(one)  # warms the process up
    assert count(one, one) == 2 * count(one) > 0
    heavy(8)
    assert heavy(24, 32, 40, 48) == heavy(16) + 3
    # Six kernels of eager are compiled; a warm first call would take microseconds.
    (again,) = measured(case("selu", 5000, "eager"))
    assert again.ready
    assert (again.phases.first_call or 0) > 20 * again.ready.median


# What is wrong with a number, planted.


def test_a_closed_over_constant_is_called_folded_and_gets_no_rate(
    planted: Callable[..., str],
) -> None:
    constant = np.random.default_rng(0).standard_normal((128, 128), np.float32)

    def closed(a: jax.Array, b: jax.Array, precision: object = None) -> jax.Array:
        return jnp.asarray(constant) @ jnp.asarray(constant)

    name = planted("sigmoid", jax=lambda x: jnp.tanh(x) + 0 * x)
    folded, wrong = measured(case(planted("matmul", jax=closed), 128), case(name, 5000))
    assert folded.has("folded")
    assert folded.flops_per_second is None
    found = [note.severity for note in wrong.notes if note.code == "inaccurate"]
    assert found == ["error"]


@pytest.mark.parametrize(
    ("owner", "name", "instead", "one", "code"),
    [
        (
            workload,
            "send",
            lambda hosts, _: hosts,
            case("add", 64),
            "implicit-transfer",
        ),
        (Turns, "_plan_burst", lambda _: (16, 48), case("matmul", 256), "queue-full"),
    ],
)
def test_what_takes_part_in_a_call_or_fills_the_queue_is_noted(
    owner: Any,
    name: str,
    instead: Any,
    one: Case,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owner, name, instead)
    (found,) = measured(one)
    assert found.has(code)


@pytest.mark.skipif(
    jax.__version_info__ < (0, 7),
    reason="without optimizations its sum takes fifteen times as long as the copy",
)
@pytest.mark.parametrize("mode", ["jit", "eager"])
def test_host_inputs_are_sent_at_every_call(mode: Any) -> None:
    resident, sent = measured(
        case("sum", 2_000_000, mode), case("sum", 2_000_000, mode, inputs="host")
    )
    assert sent.ready
    assert resident.ready
    # 8 MB are copied in each call; of a busy machine the quick calls tell.
    assert sent.ready.p10 > 1.5 * resident.ready.p10
    assert sent.output_dtype == "float32"


# What fails, or does not even begin.


def test_float64_without_its_scope_is_a_failure_not_a_float32_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workload, "enable_x64", lambda dtype: nullcontext())
    wrong, right = outcomes(case("matmul", 64, dtype="float64"), case("matmul", 64))
    assert isinstance(wrong, Failure)
    assert wrong.remark.facts == {"dtype": "float32"}
    assert isinstance(right, Measurement)


@in_a_thread
def test_an_error_that_surfaces_at_block_is_a_named_failure_and_the_rest_goes_on(
    planted: Callable[..., str],
) -> None:
    def raising(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        raise ValueError("the planted fault")

    def broken(x: jax.Array) -> jax.Array:
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        result: jax.Array = jax.pure_callback(raising, shape, x)
        return result

    name = planted("sigmoid", jax=broken)
    wrong, right = outcomes(case(name, 5000), case("sigmoid", 5000))
    assert isinstance(wrong, Failure)
    assert "the planted fault" in wrong.remark.detail
    assert "\n" not in str(wrong.remark.facts["error"])
    assert isinstance(right, Measurement)


def test_what_cannot_be_or_is_too_slow_fails_before_anything_is_allocated() -> None:
    *failed, fine = outcomes(
        case("matmul", 10_000_000),
        case("matmull", 10),
        case("matmul", 3000, "numpy", "float16"),
        case("add", 10),
    )
    codes = [one.remark.code for one in failed if isinstance(one, Failure)]
    assert codes == ["too-large", "op-unknown", "too-slow"]
    assert isinstance(failed[-1], Failure)
    assert failed[-1].estimated_seconds
    assert isinstance(fine, Measurement)


# The course of a run.


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
    assert not any(one.has("few-rounds") for one in kept)
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


def test_the_points_of_a_turn_are_thinned_but_keep_the_extremes() -> None:
    ready = [1.0 + (i % 7) / 10 for i in range(1999)]
    ready[1234], ready[77] = 50.0, 0.1
    dispatch, kept = thin(Block([r / 2 for r in ready], ready), 200)
    assert len(kept) <= 200
    assert max(kept) == 50.0
    assert min(kept) == 0.1
    assert [r / 2 for r in kept] == list(dispatch)


def test_calls_that_are_left_out_of_the_points_are_in_the_bins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measurement, "POINTS_PER_TURN", 4)
    found = list(run(experiment(case("add", 10))))
    first, *turns = (one for one in found if isinstance(one, Sampled))
    assert first.round == 0
    assert [turn.round for turn in turns] == [*range(1, len(turns) + 1)]
    (whole,) = endings(found)
    assert isinstance(whole, Measurement)
    assert whole.ready is not None
    assert whole.ready.n == sum(turn.calls for turn in turns)
    assert any(turn.ready_bins for turn in turns)
    for turn in turns:
        if turn.ready_bins is None:
            assert len(turn.ready) == turn.calls
        else:
            assert sum(turn.ready_bins.values()) == turn.calls


def test_short_memory_runs_sizes_one_after_another() -> None:
    def planned(size: int) -> PlannedCase:
        needs: dict[str, Any] = {"memory_bytes": 0, "host_memory_bytes": 0}
        return PlannedCase(case=case("add", size), flops=None, bytes=None, **needs)

    cases = [(0, planned(8)), (1, planned(4)), (2, planned(8))]
    assert groups(cases, grouped=False) == [cases]
    by_size = [[index for index, _ in group] for group in groups(cases, grouped=True)]
    assert by_size == [[1], [0, 2]]
    assert groups([], grouped=False) == []


def test_summing_up_is_left_out_after_most_rounds() -> None:
    due = [rounds for rounds in range(1, 65) if is_due(rounds)]
    assert due[:10] == [*range(1, 11)]
    assert len(due) < 40


def test_what_is_left_of_a_budget_is_not_what_is_left_to_wait() -> None:
    found = list(run(experiment(case("add", 8), budget=600.0)))
    kinds = [type(event) for event in found]
    last = len(kinds) - kinds[::-1].index(Sampled)
    left = [
        [event.remaining_seconds for event in part if isinstance(event, Progress)]
        for part in (found[:last], found[last + 1 :])
    ]
    assert min(left[0]) > 100 > max(left[1])


@pytest.mark.parametrize("fault", ["room", "error"])
def test_a_copy_that_cannot_be_timed_costs_no_figure(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(*_: object) -> None:
        raise ValueError("the planted fault")

    if fault == "room":
        monkeypatch.setattr(devices, "free_bytes", lambda *_: 100)
        monkeypatch.setattr(planning.Supply, "free_bytes", lambda *_: None)
    else:
        monkeypatch.setattr(coldpath, "to_device", raises)
    (found,) = measured(case("add", 1000))
    assert found.phases.transfer is None
    assert (found.phases.fetch is None) == (fault == "error")
    assert words.sentence(next(x for x in found.notes if x.code == "uncopied"))


def test_arguments_that_a_call_uses_up_are_sent_too(write: Callable[..., str]) -> None:
    path = write(
        """
        import functools
        import jax

        @functools.partial(jax.jit, donate_argnums=0)
        def step(x):
            return x + 1
        """
    )
    (found,) = measured(own("step", "f32[1000]", file=path))
    assert found.phases.transfer
    assert found.phases.fetch
    assert not found.has("uncopied")


# A budget is time for measuring.


def default_budget(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    for name in ("BUDGET_SECONDS", "BUDGET_SECONDS_PER_CASE"):
        monkeypatch.setattr(cases_module, name, seconds)


@pytest.mark.parametrize("typed", [None, 0.3])
def test_what_comes_before_the_rounds_is_not_of_the_budget(
    typed: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    default_budget(monkeypatch, 0.3)
    asked = Experiment(cases=(own("deep", "f32[8]"),), budget_seconds=typed)
    (found,) = endings(run(asked))
    assert isinstance(found, Measurement)
    assert found.phases.cold_seconds > 0.3
    assert found.ready is not None
    assert found.ready.rounds >= MINIMUM_ROUNDS


def test_a_call_that_is_short_beside_the_budget_has_six_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = Experiment(cases=(case("add", 8),) * 6, budget_seconds=0.01)
    for share, enough in ((1e9, True), (0.0, False)):
        monkeypatch.setattr(module, "SHORT_SHARE", share)
        found = endings(run(many))
        measured_ones = [one for one in found if isinstance(one, Measurement)]
        rounds = [one.ready.rounds for one in measured_ones if one.ready]
        assert (min(rounds) >= MINIMUM_ROUNDS) is enough


def test_a_call_of_numpy_must_fit_into_the_budget_of_a_process() -> None:
    slow = case("matmul", 3000, "numpy", "float16")
    limits = [
        module._ExperimentRun(
            Experiment(cases=(slow,), budget_seconds=100.0, processes=processes),
            lambda: False,
            own_process=True,
            pace=ALONE,
        )._slow_at_most
        for processes in (1, 5, 50)
    ]
    assert limits == [100.0, 20.0, module.SLOW_SECONDS_AT_MOST]
