"""Programs of traces: what they say is what JAX and XLA say of them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.measure import hlo, programs, xspace


def proto(function: Callable[..., Any], *args: Any, folder: Path) -> tuple[bytes, Any]:
    """A program as a trace holds it, and compiled."""
    jitted = jax.jit(function)
    compiled = jitted.lower(*args).compile()
    jitted(*args)
    jax.profiler.start_trace(str(folder))
    jax.block_until_ready(jitted(*args))
    jax.profiler.stop_trace()
    (file,) = xspace.files(folder)
    found = dict(xspace.load(file).programs())
    name = f"jit_{function.__name__}("
    return next(data for key, data in found.items() if key.startswith(name)), compiled


def branches(x: Any) -> Any:
    def body(carry: Any, _: Any) -> Any:
        return jnp.sin(carry) @ carry, carry[0].sum()

    return jax.lax.scan(body, x, None, length=3)


def products(x: Any) -> Any:
    return jnp.tanh(x @ x).sum(axis=0) * 2.0


@pytest.fixture(scope="module", params=[branches, products])
def read(request: Any, tmp_path_factory: Any) -> tuple[hlo.Program, Any]:
    folder = tmp_path_factory.mktemp("trace")
    data, compiled = proto(request.param, jnp.ones((64, 64)), folder=folder)
    return hlo.read(data), compiled


def test_it_has_the_instructions_that_jax_prints(read: tuple[hlo.Program, Any]) -> None:
    program, compiled = read
    printed = {
        one.name: one.opcode
        for each in programs.module(compiled.as_text()).computations.values()
        for one in each
    }
    found = {name: one.opcode for name, one in program.instructions.items()}
    assert found == printed


def test_a_loops_body_is_known_to_be_in_it(read: tuple[hlo.Program, Any]) -> None:
    program, _ = read
    loops = [n for n, one in program.instructions.items() if one.opcode == "while"]
    inside = {name for name, holders in program.holders.items() if {*loops} & holders}
    assert bool(loops) == bool(inside)


def test_flops_are_those_that_xla_counts(tmp_path: Path) -> None:
    data, compiled = proto(products, jnp.ones((64, 64)), folder=tmp_path)
    program = hlo.read(data)
    entry = [
        one
        for one in program.computations[program.entry]
        if one.opcode not in ("parameter", "constant")
    ]
    counted = programs.counted_flops(compiled)
    assert sum(map(program.flops, entry)) == pytest.approx(counted, rel=0.05)


@pytest.mark.parametrize("precision", ["default", "highest"])
def test_a_product_has_the_dtype_that_it_multiplies(
    precision: str, tmp_path: Path
) -> None:
    def half(x: Any) -> Any:
        narrow = x.astype(jnp.float16)
        return jnp.dot(narrow, narrow, precision=precision) + 1

    data, _ = proto(half, jnp.ones((64, 64)), folder=tmp_path)
    program = hlo.read(data)
    entry = program.computations[program.entry]
    found = {program.product(one) for one in entry} - {None}
    # A CPU without products of float16 multiplies float32.
    assert found in ({("f16", precision)}, {("f32", precision)})


def rows(x: Any) -> Any:
    def body(at: Any, kept: Any) -> Any:
        row = jax.lax.dynamic_slice(x, (at, 0), (1, 4096))
        return jax.lax.dynamic_update_slice(kept, row * 2.0, (at, 0))

    return jax.lax.fori_loop(0, 8, body, x)


def test_of_a_slice_only_that_is_counted(tmp_path: Path) -> None:
    data, _ = proto(rows, jnp.ones((64, 4096)), folder=tmp_path)
    program = hlo.read(data)
    updating = [
        one
        for one in program.instructions.values()
        if one.shape.dims == (64, 4096)
        and one.opcode in ("fusion", "dynamic-update-slice")
        and one.name in program.holders
    ]
    assert updating
    assert min(map(program.bytes, updating)) < 64 * 4096 * 4 / 8


def instruction(at: int, opcode: str, shape: str, *operands: int) -> hlo.Instruction:
    dims = tuple(map(int, shape.split("x")))
    empty: dict[str, Any] = dict.fromkeys(("op_name", "fusion_kind", "target"), "")
    empty |= {"source": None, "frame": 0, "contracted": (), "precision": "default"}
    return hlo.Instruction(
        name=f"{opcode}.{at}",
        opcode=opcode,
        shape=hlo.Shape("f32", dims),
        id=at,
        operands=operands,
        called=(2,) if opcode == "fusion" else (),
        **empty,
    )


@pytest.mark.parametrize(
    ("inside", "moved"),
    [
        # 8 of 1000 rows are read, also where another dtype is made of them.
        ([(12, "gather", "8x10", 10, 11)], 4 * (80 + 8 + 80)),
        (
            [(12, "convert", "1000x10", 10), (13, "gather", "8x10", 12, 11)],
            4 * (80 + 8 + 80),
        ),
        # Changed in place: what is written was read as the updates.
        (
            [(12, "parameter", "8x10"), (13, "scatter", "1000x10", 10, 11, 12)],
            4 * (8 + 80 + 80),
        ),
    ],
)
def test_a_fusion_moves_what_it_touches(inside: list[Any], moved: float) -> None:
    given = ((10, "parameter", "1000x10"), (11, "parameter", "8"))
    fused = tuple(instruction(*one) for one in (*given, *inside))
    fusion = instruction(1, "fusion", "8x10")
    program = hlo.Program(1, {1: (fusion,), 2: fused}, hlo.Tables(), {})
    assert program.bytes(fusion) == moved


def test_shapes_have_their_bytes() -> None:
    assert hlo.Shape("f32", (8, 4)).nbytes == 128
    assert hlo.Shape("pred", (8,)).nbytes == 8
    assert hlo.Shape("s4", (8,)).nbytes == 4
    assert hlo.Shape("f8e4m3fn", (8,)).nbytes == 8
    assert hlo.Shape("bf16", ()).nbytes == 2
    both = hlo.Shape("tuple", (), (hlo.Shape("f32", (2,)), hlo.Shape("token", ())))
    assert (both.nbytes, str(both)) == (8, "(f32[2], token[])")


def survives(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        program = hlo.read(data)
        for one in program.instructions.values():
            program.stack(one)
            program.bytes(one)
            program.flops(one)
            list(program.inside(one))


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_a_program_or_none(data: bytes) -> None:
    survives(data)


def test_a_damaged_program_is_a_program_or_none(tmp_path: Path) -> None:
    data, _ = proto(branches, jnp.ones((8, 8)), folder=tmp_path)
    places = random.Random(0)
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(places.randrange(1, 20)):
            damaged[places.randrange(len(damaged))] = places.randrange(256)
        survives(bytes(damaged))
    with pytest.raises(ValueError, match="cut off"):
        hlo.read(data[:200])
