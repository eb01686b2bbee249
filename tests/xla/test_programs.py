"""Programs of traces: what they say is what JAX and XLA say of them."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import random
import re
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

from jaxtui.tasks.programs import counted_flops
from jaxtui.xla import traces
from jaxtui.xla.programs import Instruction, Program, Shape, read, read_traced
from tests.tasks.spaces import message


def branches(x: jax.Array) -> Any:
    def body(carry: jax.Array, _: Any) -> Any:
        return jnp.sin(carry) @ carry, carry[0].sum()

    return jax.lax.scan(body, x, None, length=3)


def products(x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ x).sum(axis=0) * 2.0


def default(x: jax.Array, precision: str = "default") -> jax.Array:
    narrow = x.astype(jnp.float16)
    return jnp.dot(narrow, narrow, precision=precision) + 1


def highest(x: jax.Array) -> jax.Array:
    return default(x, "highest")


def rows(x: jax.Array) -> jax.Array:
    def body(at: jax.Array, kept: jax.Array) -> jax.Array:
        row = jax.lax.dynamic_slice(x, (at, 0), (1, 64))
        return jax.lax.dynamic_update_slice(kept, row * 2.0, (at, 0))

    result: jax.Array = jax.lax.fori_loop(0, 8, body, x)
    return result


FUNCTIONS = (branches, products, default, highest, rows)


class Traced(NamedTuple):
    data: bytes
    """As a trace holds it."""
    compiled: jax.stages.Compiled

    @property
    def program(self) -> Program:
        return read_traced(self.data)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Traced]:
    folder, x = tmp_path_factory.mktemp("trace"), jnp.ones((64, 64))
    compiled = [jax.jit(function).lower(x).compile() for function in FUNCTIONS]
    with jax.profiler.trace(str(folder)):
        for call in compiled:
            jax.block_until_ready(call(x))
    (file,) = traces.files(folder)
    found = {
        name.partition("(")[0]: data for name, data in traces.load(file).programs()
    }
    return {
        function.__name__: Traced(found[f"jit_{function.__name__}"], call)
        for function, call in zip(FUNCTIONS, compiled, strict=True)
    }


@pytest.mark.parametrize("name", ["branches", "products"])
def test_it_has_the_instructions_that_jax_prints(
    traced: dict[str, Traced], name: str
) -> None:
    line = r"^\s+(?:ROOT )?%?([\w.\-]+) = .*? ([a-z][\w\-]*)\("
    text = traced[name].compiled.as_text() or ""
    program = traced[name].program
    found = {name: one.opcode for name, one in program.instructions.items()}
    assert found == dict(re.findall(line, text, re.MULTILINE))
    # A loop's body is known to be in it.
    loops = {name for name, opcode in found.items() if opcode == "while"}
    inside = {name for name, holders in program.holders.items() if loops & holders}
    assert bool(inside) == bool(loops) == (name == "branches")


def test_flops_are_those_that_xla_counts(traced: dict[str, Traced]) -> None:
    program = traced["products"].program
    entry = [
        one
        for one in program.computations[program.entry]
        if one.opcode not in ("parameter", "constant")
    ]
    counted = counted_flops(traced["products"].compiled)
    assert sum(map(program.flops, entry)) == pytest.approx(counted, rel=0.05)


@pytest.mark.parametrize("precision", ["default", "highest"])
def test_a_product_has_the_dtype_that_it_multiplies(
    traced: dict[str, Traced], precision: str
) -> None:
    program = traced[precision].program
    entry = program.computations[program.entry]
    found = {program.product(one) for one in entry} - {None}
    # A CPU without products of float16 multiplies float32.
    assert found in ({("f16", precision)}, {("f32", precision)})


def test_of_a_slice_only_that_is_counted(traced: dict[str, Traced]) -> None:
    program = traced["rows"].program
    updating = [
        one
        for one in program.instructions.values()
        if one.shape.dims == (64, 64)
        and one.opcode in ("fusion", "dynamic-update-slice")
        and one.name in program.holders
    ]
    assert updating
    assert min(map(program.bytes, updating)) < 64 * 64 * 4 / 8


# Compiled here, or anywhere: XLA reads its own text.


def parsed(text: str) -> Program:
    name = "jaxlib._hlo" if importlib.util.find_spec("jaxlib._hlo") else "jaxlib._jax"
    module = importlib.import_module(name).hlo_module_from_text(text)
    return read(module.as_serialized_hlo_module_proto())


PROGRAM = """\
HloModule jit_f, is_scheduled=true

%inner (p.1: f32[], q.1: f32[]) -> pred[] {
  %p.1 = f32[] parameter(0)
  %q.1 = f32[] parameter(1)
  ROOT %lt.1 = pred[] compare(%p.1, %q.1), direction=LT
}

%compare.2 (p.2: f32[], q.2: f32[]) -> pred[] {
  %p.2 = f32[] parameter(0)
  %q.2 = f32[] parameter(1)
  ROOT %fusion.9 = pred[] fusion(%p.2, %q.2), kind=kLoop, calls=%inner
}

%added (p.3: f32[8]) -> f32[8] {
  %p.3 = f32[8]{0} parameter(0)
  %c = f32[] constant(1)
  %many = f32[8]{0} broadcast(%c), dimensions={}
  ROOT %add.1 = f32[8]{0} add(%p.3, %many)
}

%parallel (p.4: f32[8]) -> f32[8] {
  %p.4 = f32[8]{0} parameter(0)
  ROOT %fusion.1 = f32[8]{0} fusion(%p.4), kind=kLoop, calls=%added
}

%body (s: (s32[], f32[8])) -> (s32[], f32[8]) {
  %s = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %x.1 = f32[8]{0} get-tuple-element(%s), index=1
  %fusion.2 = f32[8]{0} fusion(%x.1), kind=kInput, calls=%added
  ROOT %t = (s32[], f32[8]{0}) tuple(%i, %fusion.2)
}

%cond (s.1: (s32[], f32[8])) -> pred[] {
  %s.1 = (s32[], f32[8]{0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%s.1), index=0
  %n = s32[] constant(3)
  ROOT %lt = pred[] compare(%i.1, %n), direction=LT
}

%sum (p.6: f32[], q.6: f32[]) -> f32[] {
  %p.6 = f32[] parameter(0)
  %q.6 = f32[] parameter(1)
  ROOT %add.3 = f32[] add(%p.6, %q.6)
}

%scattered (p.7: f32[8]) -> f32[2] {
  %p.7 = f32[8]{0} parameter(0)
  ROOT %reduce-scatter.1 = f32[2]{0} reduce-scatter(%p.7), channel_id=1,
    replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=%sum
}

ENTRY %main.3 (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %copy-start = (f32[8]{0}, f32[8]{0}, u32[]) copy-start(%x)
  %copy-done = f32[8]{0} copy-done(%copy-start)
  %call = f32[8]{0} call(%copy-done), to_apply=%parallel
  %sort.1 = f32[8]{0} sort(%call), dimensions={0}, to_apply=%compare.2
  %scatter-start = ((f32[8]{0}), f32[2]{0}) async-start(%sort.1), calls=%scattered
  %zero = s32[] constant(0)
  %start = (s32[], f32[8]{0}) tuple(%zero, %sort.1)
  %loop = (s32[], f32[8]{0}) while(%start), condition=%cond, body=%body
  %scatter-done = f32[2]{0} async-done(%scatter-start)
  ROOT %out = f32[8]{0} get-tuple-element(%loop), index=1
}
"""


def test_what_a_call_wraps_counts_and_a_loop_and_a_pair_count_once() -> None:
    counted = {"copy": 1, "fusion": 1, "sort": 1, "reduce-scatter": 1, "while": 1}
    program = parsed(PROGRAM)
    assert program.kernels() == counted
    # Those that run as kernels.
    inside = {"broadcast": 1, "add": 1}
    assert {one.name: (one.kind, one.operations) for one in program.fusions()} == {
        "fusion.1": ("kLoop", inside),
        "fusion.2": ("kInput", inside),
    }
    (exchanged,) = program.exchanges()
    assert (exchanged.kind, exchanged.bytes) == ("reduce-scatter", 32)
    assert (exchanged.groups, exchanged.participants) == (1, 4)


COLLECTIVE = """\
HloModule m

%sum (p.6: f32[], q.6: f32[]) -> f32[] {{
  %p.6 = f32[] parameter(0)
  %q.6 = f32[] parameter(1)
  ROOT %add.3 = f32[] add(%p.6, %q.6)
}}

ENTRY %main (p: {given}) -> {shape} {{
  %p = {given} parameter(0)
  ROOT %x.1 = {shape} {op}(%p), channel_id=1, {groups}{more}
}}
"""

SUM, GATHER = ", to_apply=%sum", ", dimensions={0}"
PAIR, PERMUTE = "(f32[8], f32[8])", "collective-permute-start"


@pytest.mark.parametrize(
    ("given", "shape", "op", "groups", "more", "expected"),
    [
        ("f32[8,4]", "f32[8,4]", "all-reduce", "{{0,1},{2,3}}", SUM, (128, 2, 2)),
        ("bf16[2]", "bf16[8]", "all-gather", "[2,4]<=[8]", GATHER, (16, 2, 4)),
        ("bf16[4]", "bf16[8]", "all-gather", "[4,2]<=[2,4]T(1,0)", GATHER, (16, 4, 2)),
        ("f32[8]", "f32[2]", "reduce-scatter", "[2,4]<=[8]", GATHER + SUM, (32, 2, 4)),
        ("f32[2]", "f32[2]", "all-reduce", "{}", SUM, (8, None, None)),
        ("f32[8]", PAIR, PERMUTE, "{{0,1},{1,0},{2,3},{3,2}}", "", (32, 2, 2)),
    ],
)
def test_groups_are_written_as_xla_writes_them(
    given: str, shape: str, op: str, groups: str, more: str, expected: Any
) -> None:
    name = "source_target_pairs" if "permute" in op else "replica_groups"
    text = COLLECTIVE.format(
        given=given, shape=shape, op=op, groups=f"{name}={groups}", more=more
    )
    (found,) = parsed(text).exchanges()
    assert (found.bytes, found.groups, found.participants) == expected
    assert found.replica_groups == groups


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        # Axis 1; both; a part of axis 0, whose devices are 4.
        ([message((1, 1))], (4, 2, "{'b'}")),
        ([b"", message((1, 1))], (1, 8, "{'a','b'}")),
        ([message((2, message((1, 1), (2, 2))))], (4, 2, "{'a':(1)2}")),
    ],
)
def test_groups_are_along_axes_of_a_mesh(over: list[bytes], expected: Any) -> None:
    axes = [(1, message((1, b"a"), (2, 4))), (1, message((1, b"b"), (2, 2)))]
    mesh = message((1, message(*axes)), *((2, axis) for axis in over))
    exchange = message((2, b"all-gather"), (93, mesh))
    (found,) = read(message((3, message((2, exchange))))).exchanges()
    groups, participants, text = expected
    assert (found.groups, found.participants) == (groups, participants)
    assert found.replica_groups == f"mesh['a'=4,'b'=2] {text}"


def instruction(at: int, opcode: str, shape: str, *operands: int) -> Instruction:
    dims = tuple(map(int, shape.split("x")))
    return Instruction(
        name=f"{opcode}.{at}",
        opcode=opcode,
        shape=Shape("f32", dims),
        id=at,
        operands=operands,
        called=(2,) if opcode == "fusion" else (),
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
    program = Program(1, {1: (fusion,), 2: fused}, ((), (), (), ()), {})
    assert program.bytes(fusion) == moved


def test_shapes_have_their_bytes() -> None:
    assert Shape("f32", (8, 4)).nbytes == 128
    assert Shape("pred", (8,)).nbytes == 8
    assert Shape("s4", (8,)).nbytes == 4
    assert Shape("f8e4m3fn", (8,)).nbytes == 8
    assert Shape("bf16", ()).nbytes == 2
    both = Shape("tuple", (), (Shape("f32", (2,)), Shape("token", ())))
    assert (both.nbytes, str(both)) == (8, "(f32[2], token[])")


def survives(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        program = read_traced(data)
        for one in program.instructions.values():
            program.stack(one)
            program.bytes(one)
            program.flops(one)
            list(program.inside(one))


def test_a_damaged_program_is_a_program_or_none(traced: dict[str, Traced]) -> None:
    data, _ = traced["branches"]
    places = random.Random(0)
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(places.randrange(1, 20)):
            damaged[places.randrange(len(damaged))] = places.randrange(256)
        survives(bytes(damaged))
    with pytest.raises(ValueError, match="cut off"):
        read_traced(data[:200])
