"""Compiled calls, the inputs that devices make, and how fast calls are in bursts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.core.model import DTYPES, Case, CheckRead, Reading
from jaxtui.core.stats import MINIMUM_ROUNDS
from jaxtui.features.bench.measure import rates
from jaxtui.features.bench.measure.rates import Subject
from jaxtui.tasks import ops
from jaxtui.timing import clocks, turns
from jaxtui.timing.turns import never


def case(op: str = "matmul", size: int = 64, dtype: str = "float32") -> Case:
    return Case(op=op, size=size, dtype=dtype, device="cpu:1", mode="jit")


def shape_of(one: Case) -> tuple[tuple[int, ...], Any]:
    op = ops.get(one.op)
    return op.result_shape(one.size), op.result_dtype(one.dtype)


def device(index: int = 1) -> jax.Device:
    return jax.devices()[index]


@pytest.mark.parametrize("dtype", DTYPES)
def test_calls_are_right_in_every_dtype_outside_of_any_scope(dtype: str) -> None:
    one = case(dtype=dtype)
    a, b = rates.arguments(one, device(), seed=1)
    assert str(a.dtype) == dtype
    with rates.scope(one, device()):
        like = jnp.zeros(*shape_of(one), device=device())
    wide = np.complex128 if dtype == "complex64" else np.float64
    expected = np.asarray(a).astype(wide) @ np.asarray(b).astype(wide)
    exact = 0 if dtype.startswith("int") else 2e-2
    widened = {"int8": "int32", "float8_e4m3fn": "float32"}
    for into in (False, True):
        call = rates.compile_case(one, device(), into=into)
        result = call(a, b, *[like] * into)
        assert result.devices() == {device()}
        assert str(result.dtype) == widened.get(dtype, dtype)
        found = np.asarray(result).astype(wide)
        np.testing.assert_allclose(found, expected, rtol=exact, atol=10 * exact)


@pytest.mark.parametrize("op", rates.STREAMS)
def test_a_stream_writes_its_result_where_the_last_one_was(op: str) -> None:
    stream = case(op, size=512)
    work = rates.prepare(stream, device(), 0).workload
    first = work.call(*work.args)
    expected, place = np.asarray(first).copy(), first.unsafe_buffer_pointer()
    again = work.call(*work.args)
    assert first.is_deleted()
    assert again.unsafe_buffer_pointer() == place
    assert all(arg.unsafe_buffer_pointer() != place for arg in work.args)
    np.testing.assert_array_equal(np.asarray(again), expected)


def test_calls_are_compiled_once_for_each_device() -> None:
    ready = rates.prepare(case(), device(2), 0).workload
    assert all(array.devices() == {device(2)} for array in ready.args)
    assert ready.call(*ready.args).devices() == {device(2)}
    again = rates.compile_case(case(), device(2), into=False)
    assert again is ready.call
    assert rates.compile_case(case(), device(3), into=False) is not ready.call
    assert rates.compile_case(case(), device(2), into=True) is not ready.call


def test_the_precision_is_the_one_of_the_case() -> None:
    before = jax.config.jax_default_matmul_precision
    jax.config.update("jax_default_matmul_precision", "highest")
    try:
        with rates.scope(case(size=48), device()):
            inside = jax.config.jax_default_matmul_precision
            text = jax.jit(lambda x: x @ x).lower(np.ones((4, 4), "f4")).as_text()
    finally:
        jax.config.update("jax_default_matmul_precision", before)
    assert inside == "default"
    assert "HIGHEST" not in text


def test_arguments_are_the_same_on_every_device_and_differ_by_seed() -> None:
    one = case(size=100)

    def made(index: int, **more: int) -> list[np.ndarray]:
        arrays = rates.arguments(one, device(index), **more)
        assert {array.devices() == {device(index)} for array in arrays} == {True}
        return [*map(np.asarray, arrays)]

    here = made(0)
    np.testing.assert_array_equal(here, made(3))
    assert not np.array_equal(*here)
    assert not np.array_equal(here[0], made(0, seed=1)[0])
    assert np.isfinite(made(0, seed=2**40 + 1)).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_floats_are_spread_evenly_and_integers_cannot_overflow(dtype: str) -> None:
    x = np.asarray(rates.arguments(case("copy", 1 << 16, dtype), device())[0])
    x = x.astype(np.float64)
    assert x.min() >= -1
    assert x.max() <= 1
    assert abs(x.mean()) < 0.02
    assert x.std() == pytest.approx(3**-0.5, rel=0.02)
    # Neighbours know nothing of each other.
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 0.02
    (whole,) = rates.arguments(case("copy", 1 << 12, "int8"), device())
    assert set(np.unique(np.asarray(whole))) == set(range(-8, 8))


# Bursts, under a clock that is made up.


class Fake:
    """A device: every burst has a hand-over, and every call its time."""

    def __init__(self, call: float, hand_over: float = 0.0, noise: float = 0.0) -> None:
        self.call, self.hand_over, self.noise = call, hand_over, noise
        self.now = 0.0
        self.bursts: list[int] = []

    def burst(self, _call: Any, _args: Any, _wait: Any, count: int) -> float:
        self.bursts.append(count)
        # Every other short burst is disturbed.
        disturbed = self.noise if count == 1 and len(self.bursts) % 4 < 2 else 0.0
        seconds = self.hand_over + count * self.call + disturbed
        self.now += seconds
        return seconds

    def calls(self, *_: Any, least: int = 1) -> clocks.Block:
        one = self.hand_over + self.call
        return clocks.Block([self.hand_over] * least, [one] * least)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Fake]:
    def made(*facts: float) -> Fake:
        fake = Fake(*facts)
        monkeypatch.setattr(clocks, "burst", fake.burst)
        monkeypatch.setattr(clocks, "calls", fake.calls)
        for module in (rates, turns):
            monkeypatch.setattr(module, "perf_counter", lambda: fake.now)
        monkeypatch.setattr(turns, "rest", lambda: 0.0)
        return fake

    return made


def measure(
    seconds: float,
    stop: Callable[[], bool] = never,
    call: Any = lambda: jnp.zeros(1),
) -> Reading | None:
    """Calls per second."""
    work = rates.workload(case(), device(0), call)
    subject = Subject("work", work, per=1.0)
    events = rates.measure("compute", {device(0): lambda: subject}, seconds, stop)
    return next((x.reading for x in events if isinstance(x, CheckRead)), None)


ENOUGH, FEW = range(MINIMUM_ROUNDS, 10**6), range(1, MINIMUM_ROUNDS)


@pytest.mark.parametrize(
    ("device", "seconds", "per_call", "rounds"),
    [
        # The hand-over is not counted.
        ((1e-4, 0.1), 6.0, 1e-4, ENOUGH),
        ((5e-3, 1e-3), 3.2, 5e-3, ENOUGH),
        ((1.0, 0.1), 36.0, 1.0, ENOUGH),
        # Of few rounds, or noise, the long burst is what is known.
        ((1.0, 0.1), 3.0, 1.05, FEW),
        ((0.03, 0.0, 0.5), 3.0, 0.03, range(1, 10**6)),
    ],
)
def test_seconds_per_call(
    clock: Any,
    device: tuple[float, ...],
    seconds: float,
    per_call: float,
    rounds: range,
) -> None:
    clock(*device)
    found = measure(seconds)
    assert found is not None
    assert found.measured == pytest.approx(1 / per_call)
    assert (found.ci_low or 0) > 0
    assert ((found.confidence or 0) > 0.95) == (rounds is ENOUGH)


def test_how_long_it_takes(clock: Any) -> None:
    fake = clock(0.01)
    measure(2.0)
    assert 2.0 <= fake.now < 2.0 + 1.2 * turns.TURN_SECONDS_AT_MOST + 0.2
    # One round, however slow the call, none when it is stopped before.
    fake = clock(50.0)
    slow = measure(0.1)
    assert slow is not None
    assert sorted(fake.bursts) == [1, 2]
    assert measure(1.0, lambda: True) is None


@pytest.mark.parametrize(
    ("error", "severity"),
    [
        (RuntimeError("INTERNAL: no answer"), "error"),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory"), "error"),
        (NotImplementedError("UNIMPLEMENTED: no such"), "info"),
    ],
)
def test_what_a_kind_of_device_cannot_do_is_no_error(
    error: Exception, severity: str
) -> None:
    def broken() -> None:
        raise error

    found = measure(0.1, call=broken)
    assert found is not None
    assert (found.what, found.measured) == ("work", None)
    assert found.remarks[0].severity == severity
    assert str(error) in found.remarks[0].detail
