"""Several devices at once: together, and in collectives."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from msgspec.structs import replace

from jaxtui.core.model import Case, Experiment, Inspected, Inspection, WorkFailed
from jaxtui.core.model.mesh import parse_mesh
from jaxtui.features.bench.measure import planning
from jaxtui.features.program.measure import run_inspection
from jaxtui.tasks import ops, workload
from jaxtui.tasks.ops.collectives import Exchange
from jaxtui.tasks.own import specs as own_specs
from tests.tasks.running import case, measured, own, refusal

DEVICES = "cpu:0-3"


def collective(op: str, size: int = 4096, mesh: str = "", **more: Any) -> Case:
    params = parse_mesh(mesh).params if mesh else None
    return case(op, size, device=DEVICES, params=params, **more)


def sharded(args: str, mesh: str = "2x2", name: str = "product") -> Case:
    """A function whose arguments are divided over a mesh."""
    params = {"args": args} if args else {}
    typed = own(name, device=DEVICES)
    return replace(typed, params={**params, **parse_mesh(mesh).params})


def exchanging(op: str, asked: Case) -> Exchange:
    return Exchange(ops.COLLECTIVES[op], asked, tuple(jax.devices()[:4]))


def by_hand(op: str, blocks: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """What each of a group of devices has afterwards."""
    n = len(blocks)
    whole = np.concatenate(blocks)
    total = np.sum(blocks, axis=0, dtype=blocks[0].dtype)
    match op:
        case "all_reduce":
            return [total] * n
        case "all_gather":
            return [whole] * n
        case "reduce_scatter":
            return np.split(total, n)
        case "all_to_all":
            parts = [np.split(block, n) for block in blocks]
            return [np.concatenate([part[rank] for part in parts]) for rank in range(n)]
    return [blocks[(rank - 1) % n] for rank in range(n)]


GROUPS = {
    "4": [[0, 1, 2, 3]],
    "2x2": [[0, 1, 2, 3]],
    "2x2@x": [[0, 2], [1, 3]],
    "2x2@y": [[0, 1], [2, 3]],
    "2x1x2@z": [[0, 1], [2, 3]],
}
"""The positions that work together, by mesh."""


@pytest.mark.parametrize("dtype", ["bfloat16", "int32"])
@pytest.mark.parametrize("op", ops.COLLECTIVES)
@pytest.mark.parametrize("mesh", GROUPS)
def test_results_are_those_of_numpy(op: str, dtype: str, mesh: str) -> None:
    exchange = exchanging(op, collective(op, 512, mesh, dtype=dtype))
    given = exchange.argument()
    blocks = np.split(np.asarray(given).astype(np.float64), 4)
    result = jax.jit(exchange.fresh())(given)
    shards = np.split(np.asarray(result).astype(np.float64), 4)
    for group in GROUPS[mesh]:
        right = by_hand(op, [blocks[position] for position in group])
        for position, block in zip(group, right, strict=True):
            np.testing.assert_array_equal(shards[position], block)
    assert exchange.count_wrong(result) == (0, None)


@pytest.mark.parametrize("op", ops.COLLECTIVES)
def test_every_wrong_element_is_counted(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = exchanging(op, collective(op, dtype="int32"))
    good = jax.jit(exchange.fresh())(exchange.argument())
    host = np.array(good)
    host[[0, 7, -1]] += 1
    bad = jax.device_put(host, good.sharding)
    assert exchange.count_wrong(bad) == (3, None)
    # As a device that was left out would have it.
    wrong, _ = exchange.count_wrong(exchange.argument())
    assert wrong > 0.9 * 1024
    # Of a large result a sample is looked at.
    monkeypatch.setattr(ops.collectives, "READS_AT_MOST", 400)
    assert exchange.count_wrong(good)[0] == 0
    assert op != "all_reduce" or exchange.count_wrong(good) == (0, 100)


FACTORS = {
    "all_reduce": 1.5,
    "all_gather": 0.75,
    "reduce_scatter": 0.75,
    "all_to_all": 0.75,
    "permute": 1.0,
}


@pytest.mark.usefixtures("brief")
def test_rates_follow_from_size_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for got in measured(*(collective(op, 4100) for op in FACTORS)):
        rates = got.collective
        assert rates
        assert got.ready
        assert got.case.size == 4096
        assert got.has("size-rounded")
        assert not got.has("own")
        assert (rates.participants, rates.wrong) == (4, 0)
        assert got.pipelined_seconds is None  # a CPU cannot queue them
        speed = 4096 / got.ready.median
        assert rates.algorithm_bytes_per_second == pytest.approx(speed)
        factor = FACTORS[got.case.op]
        assert rates.bus_bytes_per_second == pytest.approx(factor * speed)
        assert got.phases.compile is not None
        assert got.phases.fetch is None
    # A wrong result is an error.
    permute = ops.COLLECTIVES["permute"]
    wrong = replace(permute, form=lambda x, axes: permute.form(x, axes) + 1)
    monkeypatch.setitem(ops.COLLECTIVES, "permute", wrong)
    (got,) = measured(collective("permute", dtype="int32"))
    assert got.collective
    assert got.collective.wrong == 4 * 1024
    assert got.has("wrong-result")


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (collective("all_reduce", mesh="3x4"), "mesh-misfit"),
        (collective("all_reduce", mesh="4x1@y"), "collective-alone"),
        (case("all_reduce", 4096), "collective-alone"),
        (collective("all_reduce", 8), "size-too-small"),
        (collective("all_reduce", dtype="float64"), "dtype-missing"),
        (collective("all_reduce", mode="eager"), "mode-missing"),
        (collective("all_reduce", inputs="host"), "group-mode"),
        (case("all_reduce", 4096, device="cpu:0-7"), "device-unknown"),
        (case("selu", 4096, device=DEVICES, mode="eager"), "group-mode"),
        (case("selu", 4096, device=DEVICES, inputs="host"), "group-mode"),
        (sharded("f32[64,32]@x", "3x4"), "mesh-misfit"),
        (own("product", "f32[64,32]@x"), "group-own"),
        (own("product", "f32[64,32]", device=DEVICES), "group-own"),
        (sharded(""), "group-own"),
    ],
)
def test_what_cannot_be_is_refused(asked: Case, code: str) -> None:
    (planned,) = planning.plan(Experiment(cases=(asked,))).cases
    assert planned.problem is not None
    assert planned.problem.remark.code == code


# The devices of a group, each with arguments of its own.


@pytest.mark.usefixtures("brief")
def test_together_every_device_does_the_work() -> None:
    alone = case("matmul", 64)
    both = case("matmul", 64, device="cpu:0,2")
    single, group = measured(alone, both)
    assert single.flops
    assert single.bytes
    assert (group.flops, group.bytes) == (2 * single.flops, 2 * single.bytes)
    assert group.case.device == "cpu:0,2"
    assert group.error_vs_float64 == single.error_vs_float64
    assert group.phases.transfer is None
    # The rate is that of all; it is None of what the host hands over too slowly.
    assert group.ready
    seconds = group.pipelined_seconds, group.ready.median
    rates = [pytest.approx(2 * single.flops / each) for each in seconds if each]
    assert group.flops_per_second in (None, *rates)


def test_together_results_lie_on_their_devices() -> None:
    devices = tuple(jax.devices()[:3])
    asked, pool = case("selu", 100, device="cpu:0-2"), workload.Pool(0)
    made = workload.of_op(asked, ops.get("selu"), devices[0], pool, devices)
    assert made.jitted is not None
    assert made.resident is not None
    assert made.accuracy_of is not None
    with made.scope():
        results = made.jitted()(*made.resident())
    assert [each.device for each in results] == [*devices]
    assert made.accuracy_of(results).ok
    assert not made.accuracy_of([*results[:2], results[2] + 1]).ok


def test_memory_counts_for_every_device() -> None:
    asked = case("matmul", 64), case("matmul", 64, device="cpu:0-2")
    one, three = planning.plan(Experiment(cases=asked)).cases
    assert three.memory_bytes == 3 * one.memory_bytes
    assert three.flops == 3 * (one.flops or 0) > 0


# Functions whose arguments are divided over a mesh.


@pytest.mark.usefixtures("brief")
def test_a_function_runs_over_a_mesh() -> None:
    (got,) = measured(sharded("f32[64,32]@x,y f32[32,16]@-,y"))
    assert got.case.dtype == "float32"
    assert got.has("sharded")
    assert got.flops == pytest.approx(2 * 64 * 32 * 16)  # of all devices
    assert got.phases.transfer is None
    assert got.pipelined_seconds is None


def test_arguments_lie_where_their_axes_say() -> None:
    asked = sharded("f32[64,32]@x,y f32[32,16]@-,y f32[8]@y f32[4]")
    shardings = workload.shardings(asked, jax.devices()[:4])
    assert [
        sharding.shard_shape(spec.shape)
        for sharding, spec in zip(shardings, own_specs(asked), strict=True)
    ] == [(32, 16), (32, 8), (4,), (4,)]
    assert planning.plan_case(asked, planning.Supply()).problem is None


@pytest.mark.parametrize(
    ("args", "told"), [("f32[63,32]@x", "63"), ("f32[64,32]@z", "z")]
)
def test_what_jax_does_not_divide_it_refuses_itself(args: str, told: str) -> None:
    remark = refusal(sharded(args))
    assert (remark.code, remark.facts["phase"]) == ("function-raised", "inputs")
    assert told in str(remark.facts["error"])


# As programs.


@pytest.mark.parametrize("op", ops.COLLECTIVES)
def test_the_program_has_the_collective_and_its_groups(op: str) -> None:
    asked = collective(op, mesh="2x2@y")
    events = run_inspection(Inspection(case=asked))
    (inspected,) = (event for event in events if isinstance(event, Inspected))
    (exchanged,) = inspected.program.collectives
    kinds = {"reduce_scatter": "reduce-scatter", "permute": "collective-permute"}
    assert exchanged.kind == kinds.get(op, op.replace("_", "-"))
    assert (exchanged.groups, exchanged.participants) == (2, 2)
    assert exchanged.bytes == 4096


def test_each_device_of_a_group_has_the_same_program() -> None:
    asked = case("selu", 100, device=DEVICES)
    events = run_inspection(Inspection(case=asked))
    (failed,) = (event for event in events if isinstance(event, WorkFailed))
    assert failed.remark.code == "program-of-each"
