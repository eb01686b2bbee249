"""The rates of a chip: its products and arrays, its peaks, and calls in bursts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.core.model import (
    CHECK_LEVELS,
    DTYPES,
    ITEMSIZE,
    Case,
    CheckRead,
    Device,
    Expected,
    Reading,
)
from jaxtui.core.stats import MINIMUM_ROUNDS
from jaxtui.features.bench.measure import rates
from jaxtui.features.bench.measure.rates import Setting, Subject, last_cache_bytes
from jaxtui.tasks import ops
from jaxtui.timing import clocks, turns
from jaxtui.timing.turns import never
from jaxtui.xla import peaks
from tests.golden.test_documents import DOCUMENTS, check_frozen


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
    config: Any = jax.config
    before = config.jax_default_matmul_precision
    jax.config.update("jax_default_matmul_precision", "highest")
    try:
        with rates.scope(case(size=48), device()):
            inside = config.jax_default_matmul_precision
            text = jax.jit(lambda x: x @ x).lower(np.ones((4, 4), "f4")).as_text()
    finally:
        jax.config.update("jax_default_matmul_precision", before)
    assert inside == "default"
    assert "HIGHEST" not in text


def test_arguments_are_the_same_on_every_device_and_differ_by_seed() -> None:
    one = case(size=100)

    def made(index: int, **more: int) -> list[np.ndarray[Any, Any]]:
        arrays = rates.arguments(one, device(index), **more)
        assert {array.devices() == {device(index)} for array in arrays} == {True}
        return [*map(np.asarray, arrays)]

    here = made(0)
    np.testing.assert_array_equal(here, made(3))
    left, right = here
    assert not np.array_equal(left, right)
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


MIB, GIB = 2**20, 2**30


def described(kind: str, **attributes: str) -> Device:
    tpu = kind.startswith("TPU")
    return Device(
        id=3,
        platform="tpu" if tpu else kind if kind == "cpu" else "gpu",
        device_kind=kind,
        process_index=0,
        attributes=attributes,
    )


CPU, TPU, QUANTUM = map(described, ("cpu", "TPU v4", "NVIDIA Quantum 1"))
KINDS: tuple[str, ...] = (
    "TPU v2",
    "TPU v3",
    "TPU v5 lite",
    "TPU v6 lite",
    "TPU7x",
    "TPU v99",
)
KINDS += ("Tesla T4", "NVIDIA A100-SXM4-40GB", "NVIDIA H200", "NVIDIA B200")
KINDS += ("AMD Instinct MI250X", "AMD Instinct MI300X")
# A chip that the table lacks speaks for itself.
CAPABLE = [
    described("NVIDIA Quantum 1", compute_capability="7.5"),
    described("NVIDIA Quantum 1", compute_capability="8.0"),
    described("AMD Quantum 1", compute_capability="gfx90a"),
]
OF_PRODUCTS: tuple[str, ...] = (
    "bfloat16",
    "float16",
    "float32",
    "float32 high",
    "float32 highest",
)
OF_PRODUCTS += ("float64", "int8")


def peak(device: Device, of: str = "") -> Expected | None:
    """Of the memory, where no dtype is named."""
    if not of:
        return peaks.bandwidth_peak(device)
    dtype, _, precision = of.partition(" ")
    return peaks.product_peak(device, dtype, precision or "default")  # type: ignore[arg-type]


def test_products_arrays_and_peaks_of_chips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "_from_jax", lambda *_: None)
    lines = []
    for device in (CPU, TPU, *map(described, KINDS), *CAPABLE):
        lines.append(f"# {device.device_kind} {device.attributes or ''}".rstrip())
        setting = Setting(device)
        for level in ("quick", "full"):
            cases = [rates.product(one, setting) for one in rates.kinds(device, level)]
            assert {(x.op, x.device, x.mode) for x in cases} == {
                ("matmul", device.name, "jit")
            }
            labels = [rates.label(case).removeprefix("matmul ") for case in cases]
            lines.append(f"{level}: {', '.join(labels)}")
            sizes = {
                cache: [4 * x // MIB for x in rates.stream_sizes(setting, level, cache)]
                for cache in (None, 32 * MIB, 33 * MIB, 768 * MIB)
            }
            lines.append(f"  MiB of an array, by last cache: {sizes}")
        for of in (*OF_PRODUCTS, ""):
            if found := peak(device, of):
                best = f", reached {found.reached:.4g}" if found.reached else ""
                passes = found.source.facts.get("passes", 1)
                more = f" ({passes} passes)" if passes != 1 else ""
                lines.append(f"  {of or 'bandwidth'}: {found.value:.4g}{more}{best}")
    check_frozen(DOCUMENTS / "chips.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in peaks._table()])
def test_products_saturate_every_chip_of_the_table(pattern: re.Pattern[str]) -> None:
    text = pattern.pattern.strip("^$").replace("( lite|e)", " lite")
    device = described(re.sub(r"\(([^)]*)\)\?|(\w)\?", r"\1\2", text))
    assert pattern.match(device.device_kind)
    full, quick = rates.kinds(device, "full"), rates.kinds(device, "quick")
    assert quick[0] == full[0]
    assert set(quick) <= set(full)
    assert len(set(full)) == len(full)
    # It is first tested with what it is made for.
    assert peaks.product_peak(device, quick[0].dtype)
    for one in full:
        case = rates.product(one, Setting(device))
        assert case.size % 1024 == 0
        peak = peaks.product_peak(device, one.dtype, one.precision)
        if peak is not None:
            assert 2 * case.size**3 / peak.value >= rates.SATURATING_SECONDS


@pytest.mark.parametrize(
    ("setting", "size"),
    [
        (Setting(CPU, cores=2), 1024),
        (Setting(CPU, cores=64), 2048),
        (Setting(CPU, cores=2, sharing=8), 512),
        (Setting(QUANTUM), 8192),
    ],
)
def test_sizes_follow_cores_and_neighbours(setting: Setting, size: int) -> None:
    natural = rates.kinds(setting.device, "quick")[0]
    assert rates.product(natural, setting).size == size


@pytest.mark.parametrize("free", [0, GIB // 10, GIB, 7 * GIB, 1000 * GIB])
def test_short_memory_makes_products_and_arrays_smaller(free: int) -> None:
    device = described("NVIDIA B200")
    for one in rates.kinds(device, "full"):
        plenty = rates.product(one, Setting(device)).size
        case = rates.product(one, Setting(device, free_bytes=free))
        assert case.size == plenty or free < 1000 * GIB
        assert case.size <= plenty
        # Three matrices are the least: two inputs and a result.
        needed = 3 * case.size**2 * ITEMSIZE[case.dtype]
        assert case.size == rates.SIZES[0] or needed <= free / 4
    for level in CHECK_LEVELS:
        found = rates.stream_sizes(Setting(TPU, free_bytes=free), level, None)
        assert list(found) == sorted(set(found))
        for size in found:
            assert size & (size - 1) == 0
            assert 12 * size <= free / 2 or 4 * size == 2**20


# What should be reached.


def jax_has_a_table() -> bool:
    try:
        peaks._jax_row("TPU v4", 2)
    except Exception:
        return False
    return True


TPUS: tuple[str, ...] = (
    "TPU v2",
    "TPU v3",
    "TPU v4",
    "TPU v4 lite",
    "TPU v5 lite",
    "TPU v5",
)
TPUS += ("TPU v6 lite", "TPU7x", "TPU8i", "TPU8t")


@pytest.mark.skipif(not jax_has_a_table(), reason="no get_tpu_info_for_chip")
@pytest.mark.parametrize("kind", TPUS)
def test_jax_and_our_table_agree(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = ("bf16_ops_per_second", "mem_bw_bytes_per_second")
    # As the recorded topologies have them.
    cores = "2" if kind in ("TPU v4", "TPU v5") else "1"
    device = described(kind, num_cores=cores)
    theirs = [peaks._from_jax(device, field) for field in fields]
    # Without the number of cores its table does not count.
    assert peaks._from_jax(described(kind), fields[0]) is None
    monkeypatch.setattr(peaks, "_from_jax", lambda *_: None)
    for their, our in zip(
        theirs, (peak(device, "bfloat16"), peak(device)), strict=True
    ):
        assert our
        assert their == pytest.approx(our.value, rel=0.25)
        assert our.value > 1e11
        assert our.source.facts["source"] != peaks.JAX_TABLE


JAXS: dict[str, Any] = {"source": peaks.JAX_TABLE}


@pytest.mark.parametrize(
    ("kind", "theirs", "of", "value", "facts"),
    [
        ("TPU v3", 70e12, "bfloat16", 70e12, JAXS),
        ("TPU v99", 5e12, "bfloat16", 5e12, JAXS),
        # A healthy chip must not exceed its own.
        ("TPU v5", 2460e9, "", 2765e9, {"jax": 2460e9}),
        ("TPU v6 lite", 920e12, "float32 highest", 920e12 / 6, JAXS | {"passes": 6}),
        # Fields that have changed their meaning are not believed.
        ("TPU v5 lite", 819e9 / 2, "", 819e9, None),
        ("TPU v5 lite", 819e9 * 2, "", 819e9, None),
    ],
)
def test_which_of_two_figures_counts(
    kind: str,
    theirs: float,
    of: str,
    value: float,
    facts: dict[str, Any] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peaks, "_from_jax", lambda *_: theirs)
    found = peak(described(kind), of)
    assert found
    assert found.value == pytest.approx(value)
    assert found.kind == "peak"
    said = found.source.facts
    assert (facts or {}).items() <= said.items()
    assert facts or said["source"] != peaks.JAX_TABLE


# The last cache, which arrays are larger than.

DIES = [
    f"{core} {cache}"
    for core in range(4)
    for cache in (
        f"1 Data 32K {core}",
        f"1 Instruction 32K {core}",
        f"2 Unified 1024K {core}",
        f"3 Unified 32768K {'0-1' if core < 2 else '2-3'}",
    )
]


@pytest.mark.parametrize(
    ("caches", "size"),
    [
        # All parts of the last level count once, and it need not be the third.
        (DIES, 64 * MIB),
        (["0 1 Data 64K 0", "0 2 Unified 4M 0-1", "1 2 Unified 4M 0-1"], 4 * MIB),
        (["0 1 Data 64K 0", "0 1 Instruction 32K 0"], MIB // 16),
        # What Linux does not say is not known.
        (["0 3 Unified  0"], None),
        (["0 3 Unified unknown 0"], None),
        (["0 3 Unified -1K 0"], None),
        ([], None),
    ],
)
def test_the_last_cache(tmp_path: Path, caches: list[str], size: int | None) -> None:
    names = ("level", "type", "size", "shared_cpu_list")
    for index, cache in enumerate(caches):
        core, *facts = cache.split(" ")
        folder = tmp_path / f"cpu{core}" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in zip(names, facts, strict=True):
            (folder / name).write_text(f"{text}\n")
    assert last_cache_bytes(tmp_path) == size
