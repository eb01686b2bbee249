"""A TPU that is not here, with a CPU or a recorded text in its place."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest
from jax.experimental import topologies

from jaxtui.core.engine.server import LIBTPU_DEFAULTS, engine_environment
from jaxtui.core.model import Case, Inspected, Inspection, Topology, WorkFailed
from jaxtui.features.program import ahead
from jaxtui.features.program.measure import run_inspection
from jaxtui.machine.packages import libtpu_version
from jaxtui.tasks import devices
from jaxtui.tasks.errors import RefusedError
from jaxtui.ui import words
from tests.tasks.running import case, own

V5E = Topology(name="v5e:2x4")


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second CPU device stands for a TPU that is not here."""
    monkeypatch.setattr(devices, "described", tuple(jax.devices("cpu")[1:]))


def ended(of: Case) -> Inspected | WorkFailed:
    *_, result, _ = run_inspection(Inspection(case=of))
    assert isinstance(result, (Inspected, WorkFailed))
    return result


def inspect(of: Case) -> Inspected:
    result = ended(of)
    assert isinstance(result, Inspected), result
    return result


@pytest.mark.usefixtures("described")
def test_a_product_is_compiled_without_its_data() -> None:
    found = inspect(case("matmul", 64, dtype="float64", device="cpu:1"))
    assert found.flops == 2 * 64**3
    assert found.program.xla_flops == pytest.approx(found.flops, rel=0.05)
    assert found.program.memory is not None
    assert found.program.memory.arguments_bytes == 2 * 8 * 64**2
    assert "f64[64,64]" in found.hlo
    assert min(found.trace_seconds, found.lower_seconds, found.compile_seconds) > 0
    assert found.warm_up_seconds
    # Op by op nothing runs there; and a CPU has no peak, so no bound.
    assert found.steps == ()
    assert found.bound == (None, None)


@pytest.mark.usefixtures("described")
def test_a_function_of_a_file_is_compiled_with_its_arguments_as_shapes() -> None:
    found = inspect(own("step", size=16, device="cpu:1"))
    assert (found.case.size, found.case.device) == (16, "cpu:1")
    # XLA counts its work, and no formula bounds it.
    assert found.flops is found.bytes is None
    assert found.program.xla_flops
    typed = inspect(own("square", "bf16[64,64]", device="cpu:1"))
    assert "bf16[64,64]" in typed.hlo


JIT = """
import jax, jax.numpy as jnp
class Wrapper:
    \"\"\"Decides as eqx.filter_jit does what is traced.\"\"\"
    def __init__(self, function):
        self.function = self.__wrapped__ = function
    def __call__(self, *args):
        leaves, structure = jax.tree.flatten(args)
        arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
        def call(arrays):
            left = iter(arrays)
            whole = [next(left) if isinstance(x, jax.Array) else x for x in leaves]
            return self.function(*jax.tree.unflatten(structure, whole))[0]
        return jax.jit(call)(arrays), leaves
    lower = None
Wrapper.lower = lambda self, *args: jax.jit(lambda: self.function(*args)[0]).lower()
Wrapper.__module__ = "equinox._jit"

@Wrapper
def step(model, x):
    weights, activation = model
    return activation(x @ weights), activation
def step_args(): return (jnp.ones((16, 16)), jnp.tanh), jnp.ones((8, 16))
"""


@pytest.mark.usefixtures("described")
def test_what_equinox_compiles_is_given_tracers_and_no_shapes(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(JIT)
    found = inspect(own("step", file=str(path), device="cpu:1"))
    assert "f32[8,16]" in found.hlo


@pytest.mark.usefixtures("described")
@pytest.mark.parametrize(
    "of", [own("step", "f32[8]", device="cpu:1"), own("add", device="cpu:1")]
)
def test_too_few_arguments_are_a_failure(of: Case) -> None:
    assert isinstance(ended(of), WorkFailed)


def test_the_environment_leaves_the_own_chips_alone() -> None:
    base = {"JAX_PLATFORMS": "tpu", "TPU_ACCELERATOR_TYPE": "v4-8"}
    changed = engine_environment(base, topology="v5e:2x4")
    assert changed["JAX_PLATFORMS"] == "cpu"
    assert changed["JAX_ENABLE_COMPILATION_CACHE"] == "0"
    assert changed["TPU_ACCELERATOR_TYPE"] == "v4-8"
    assert changed.keys() >= LIBTPU_DEFAULTS.keys()
    assert not engine_environment({}).keys() & LIBTPU_DEFAULTS.keys()


def test_libtpu_is_looked_for_where_jax_looks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = tmp_path / "libtpu.so"
    monkeypatch.setenv("TPU_LIBRARY_PATH", str(library))
    without = libtpu_version()
    library.write_bytes(b"")
    assert libtpu_version() == f"of {library}" != without


def test_what_libtpu_says_to_a_topology_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "INVALID_ARGUMENT: Invalid TPU external name: TPU v9"

    def refuse(**_: object) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr(topologies, "get_topology_desc", refuse)
    with pytest.raises(RefusedError) as raised:
        ahead.describe(V5E)
    remark = raised.value.remark
    assert remark.code == "topology-refused"
    assert text in remark.detail
    assert '"v5e:2x4"' in words.text(remark)
