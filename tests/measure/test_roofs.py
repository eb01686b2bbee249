"""Measuring the roofs of a device: contests under made-up rounds, and real JAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import numpy as np
import pytest

from jaxtui.measure import candidates
from jaxtui.measure.candidates import Contestant, _copying
from jaxtui.measure.check import bandwidth as streams
from jaxtui.measure.check import compute, work
from jaxtui.measure.check.base import Setting, TroubleError, of_device
from jaxtui.measure.clocks import Block
from jaxtui.measure.roofs import FAIR_ROUNDS, Contest, run_roofs
from jaxtui.measure.turns import Turns, never
from jaxtui.measure.workload import Workload
from jaxtui.model import (
    DTYPES,
    Device,
    Progress,
    RunEvent,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.model.roofs import (
    RoofDtype,
    RoofMeasured,
    Roofs,
    RoofsMeasured,
)
from tests.measure.running import case, stop_after

FLOAT32 = RoofDtype(dtype="float32")


class Rounds(Turns):
    """A candidate whose calls always take as long."""

    def __init__(self, seconds: float, fails_after: int | None = None) -> None:
        one = case("add", 1, "numpy")
        super().__init__(Workload(case=one, call=len, on_return=True))
        self.seconds, self.fails_after, self.warm = seconds, fails_after, True

    def turn(self, kind: str, seconds: float) -> None:
        if len(self.rounds) == self.fails_after:
            raise ValueError("It broke")
        self.rounds.append(Block([], [self.seconds]))
        self.medians.append(self.seconds)


def contest(**candidates: Rounds) -> Contest:
    def made(name: str, rounds: Rounds) -> Callable[[], Contestant]:
        return lambda: Contestant(name, 100.0, rounds)

    found = Contest(jax.devices()[0], None, [made(*one) for one in candidates.items()])
    list(found.prepare(never))
    return found


@pytest.mark.parametrize("order", [("fast", "slow"), ("slow", "fast")])
def test_whoever_is_dropped_before_its_turn_is_not_waited_for(
    order: tuple[str, str],
) -> None:
    found = {"fast": Rounds(1.0), "slow": Rounds(100.0)}
    for one, rounds in zip(found.values(), (FAIR_ROUNDS - 1, FAIR_ROUNDS), strict=True):
        one.rounds = [Block([], [one.seconds])] * rounds
        one.medians = [one.seconds] * rounds
    contest(**{name: found[name] for name in order}).visit(0.0, stop_after(100))
    assert len(found["fast"].rounds) <= FAIR_ROUNDS + 1


def test_the_best_is_the_roof_and_the_hopeless_get_no_more_turns() -> None:
    slow, fast, near = Rounds(2.0), Rounds(1.0), Rounds(1.4)
    found = contest(slow=slow, fast=fast, near=near)
    for _ in range(5):
        found.visit(0.0, never)
    assert (len(slow.rounds), len(fast.rounds), len(near.rounds)) == (FAIR_ROUNDS, 5, 5)
    roof = found.roof()
    assert roof is not None
    assert (roof.kind, roof.what, roof.per_second) == ("bandwidth", "fast", 100.0)
    assert roof.ci_low <= roof.per_second <= roof.ci_high


def test_who_fails_costs_the_others_nothing() -> None:
    found = contest(fast=Rounds(1.0, fails_after=0), slow=Rounds(2.0))
    found.visit(0.0, never)
    roof = found.roof()
    assert roof is not None
    assert roof.what == "slow"
    assert found.missing() is None


def test_where_all_fail_the_first_reason_stays() -> None:
    found = contest(one=Rounds(1.0, fails_after=0))
    found.visit(0.0, never)
    assert found.roof() is None
    missing = found.missing()
    assert missing is not None
    assert missing.of is None
    assert "It broke" in missing.why


def test_it_stops_between_rounds() -> None:
    one = Rounds(1.0)
    found = contest(one=one)
    found.visit(60.0, stop_after(4))
    assert 1 <= len(one.rounds) <= 4
    assert found.missing() is None


# With JAX, on this CPU.


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products and arrays that take no time; no roof is meant by that."""
    monkeypatch.setattr(streams, "sizes", lambda *_: (2**18,))
    monkeypatch.setattr(compute, "_size", lambda *_: 256)
    monkeypatch.setitem(candidates.ELEMENTS, "cpu", 2**12)
    # Nor do they need to be warm, or timed for long.
    monkeypatch.setattr(work, "BURST_SECONDS", 0.003)
    monkeypatch.setattr(work.turns_of, "__defaults__", (0.01,))


def measure(
    *dtypes: str,
    device: str = "cpu:0",
    budget: float = 0.05,
    stop: Callable[[], bool] = never,
) -> list[RunEvent]:
    asked = tuple(RoofDtype(dtype=dtype) for dtype in dtypes)
    roofs = Roofs(device=device, dtypes=asked, budget_seconds=budget)
    return list(run_roofs(roofs, stop=stop))


def result(events: list[RunEvent]) -> RoofsMeasured:
    (found,) = (one for one in events if isinstance(one, RoofsMeasured))
    return found


@pytest.mark.usefixtures("brief", "small")
def test_both_kinds_of_roof_are_measured_and_named() -> None:
    events = measure("float32")
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "complete"
    assert any(isinstance(one, Progress) for one in events)
    found = result(events)
    assert (found.device, found.missing) == ("cpu:0", ())
    memory, arithmetic = found.roofs
    assert (memory.kind, memory.of) == ("bandwidth", None)
    assert memory.what.partition(" of ")[0] in ("copy", "triad", "NumPy's copy")
    assert (arithmetic.kind, arithmetic.of) == ("compute", FLOAT32)
    assert "256 float32" in arithmetic.what
    for roof in found.roofs:
        assert 0 < roof.ci_low <= roof.per_second <= roof.ci_high
        # Nobody publishes what an unknown CPU can do.
        assert roof.published is None
    known = [one.roof for one in events if isinstance(one, RoofMeasured)]
    assert {one.kind for one in known} == {"bandwidth", "compute"}
    assert known[-1] == arithmetic


@pytest.mark.usefixtures("brief", "small")
def test_every_dtype_has_a_roof_or_a_reason() -> None:
    found = result(measure(*DTYPES, "int4", budget=0.01))
    had = {one.of.dtype for one in found.roofs if one.of}
    lacking = {one.of.dtype for one in found.missing if one.of}
    assert had | lacking == {*DTYPES, "int4"}
    assert not had & lacking
    assert {"float64", "float32", "int32", "complex64"} <= had
    assert all(one.why.endswith(".") for one in found.missing)
    why = {one.of: one.why for one in found.missing}
    assert why[RoofDtype(dtype="int4")] == "There are no products in int4."


@pytest.mark.usefixtures("brief", "small")
def test_what_xla_refuses_is_a_reason_and_the_rest_goes_on(monkeypatch) -> None:
    whole = work.compile_case

    def refusing(case, device, **more):
        if case.op == "matmul":
            raise NotImplementedError("UNIMPLEMENTED: no such product")
        return whole(case, device, **more)

    monkeypatch.setattr(work, "compile_case", refusing)
    monkeypatch.setattr(candidates, "BLAS", ())
    monkeypatch.setattr(candidates, "_chain", unavailable)
    found = result(measure("float32"))
    assert [one.kind for one in found.roofs] == ["bandwidth"]
    (missing,) = found.missing
    assert missing.of == FLOAT32
    assert "matmul 256 float32 jit on cpu:0" in missing.why


def unavailable(*_: object) -> None:
    raise TroubleError("a chain", "There is none.")


def test_smaller_arrays_are_taken_where_memory_is_short(monkeypatch) -> None:
    # As NumPy calls its own.
    numpy_error = type("_ArrayMemoryError", (MemoryError,), {})
    jax_says = "RESOURCE_EXHAUSTED: Out of memory allocating 4 bytes"
    fill, ones = work.arguments, np.ones

    def filled(case, device, seed=0):
        if case.size > 2**19:
            raise RuntimeError(jax_says)
        return fill(case, device, seed)

    def short(size, dtype):
        if size > 2**19:
            raise numpy_error("Unable to allocate 4.00 MiB for an array")
        return ones(size, dtype)

    monkeypatch.setattr(work, "arguments", filled)
    monkeypatch.setattr(candidates.np, "ones", short)
    for make in (lambda all_: all_.copy(1), lambda all_: all_.stream("copy")):
        arrays = candidates._Arrays(2**20, jax.devices()[0], 0)
        made = arrays.as_large_as_possible(partial(make, arrays))
        assert "copy of 2.00 MiB" in made.what


@pytest.mark.usefixtures("brief", "small")
def test_no_memory_at_all_is_a_reason(monkeypatch) -> None:
    def none(*_: object) -> None:
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 4 bytes")

    monkeypatch.setattr(work, "arguments", none)
    monkeypatch.setattr("jaxtui.measure.candidates.np.ones", none)
    found = result(measure("float32"))
    assert found.roofs == ()
    assert {one.of for one in found.missing} == {None, FLOAT32}


@pytest.mark.usefixtures("brief", "small")
def test_what_is_known_when_it_is_stopped_is_kept() -> None:
    events: list[RunEvent] = []

    def one_is_known() -> bool:
        return any(isinstance(one, RoofMeasured) for one in events)

    asked = Roofs(device="cpu:0", dtypes=(FLOAT32,), budget_seconds=0.05)
    for event in run_roofs(asked, stop=one_is_known):
        events.append(event)  # noqa: PERF402  (it is looked at meanwhile)
    found = result(events)
    assert [one.kind for one in found.roofs] == ["bandwidth"]
    assert found.missing == ()
    assert events[-1].outcome == "cancelled"


def test_stopped_before_the_first_there_is_no_result() -> None:
    events = measure("float32", stop=lambda: True)
    assert not any(isinstance(one, RoofsMeasured) for one in events)
    assert events[-1].outcome == "cancelled"


def test_a_device_that_does_not_exist_is_named() -> None:
    started, failed, finished = measure(device="cpu:99")
    assert isinstance(started, RunStarted)
    assert isinstance(failed, WorkFailed)
    assert "cpu:99" in failed.error
    assert isinstance(finished, RunFinished)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "complex64"])
def test_a_chain_computes_what_it_counts(dtype: str) -> None:
    device = jax.devices("cpu")[0]
    chain = candidates._chain(RoofDtype(dtype=dtype), device, 0)
    made = chain.turns.workload
    first = made.call(*made.args)
    assert (str(first.dtype), first.shape) == (dtype, (made.case.size,))
    per_link = 8 if dtype == "complex64" else 2
    assert chain.work == per_link * candidates.LINKS * made.case.size


def test_products_of_unknown_speed_are_as_small_as_need_be(monkeypatch) -> None:
    monkeypatch.setattr(candidates, "LONGEST_CALL", 0.0)
    device = jax.devices("cpu")[0]
    of = RoofDtype(dtype="int32")
    ready = candidates.of_compute(of, of_device(device), device, 0)[0]()
    assert ready.what == "matmul 256 int32 jit"
    assert ready.work == 2 * 256**3


def test_threads_copy_every_part() -> None:
    read = np.arange(1001, dtype=np.float32)
    for threads in (1, 2, 7):
        written = np.zeros_like(read)
        _copying(written, read, threads)()
        assert (written == read).all()


@pytest.mark.parametrize(
    ("kind", "dtype", "count"),
    [
        ("TPU v5e", "bfloat16", 1),  # its peak is published: a product says it all
        ("TPU v5e", "int32", 2),
        ("TPU v5e", "int4", 1),  # which only says that there is none
        ("unheard of", "bfloat16", 2),
    ],
)
def test_where_no_peak_is_published_a_chain_competes_with_the_product(
    kind: str, dtype: str, count: int
) -> None:
    device = Device(id=0, platform="tpu", device_kind=kind, process_index=0)
    setting = Setting(device)
    found = candidates.of_compute(RoofDtype(dtype=dtype), setting, device, 0)
    assert len(found) == count
