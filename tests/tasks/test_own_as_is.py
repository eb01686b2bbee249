"""Functions as their authors call them: jitted, donating, static, sharded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
import pytest

from jaxtui.core.model import Case, Failure, Inspected, Inspection, Measurement
from jaxtui.features.bench.measure import experiment
from jaxtui.features.program import measure as inspection
from jaxtui.tasks import own as files
from jaxtui.tasks import programs
from jaxtui.tasks.workload import Pool, Workload, of_function
from jaxtui.timing import coldpath
from jaxtui.ui import words
from tests.tasks import running
from tests.tasks.running import measured, own, refusal

pytestmark = pytest.mark.usefixtures("brief")

Write = Callable[..., str]


def prepared(one: Case) -> tuple[Any, Workload]:
    """The module of a case's file, and the case through its cold path."""
    source = files.source(one.op)
    assert source is not None
    device = jax.devices()[0]
    function = files.load(source, device)
    made = of_function(function, one, device, Pool(0))
    for _ in coldpath.prepare(0, made):
        pass
    return files.load_file(source.file), made


# What is jitted already.


JITTED = """
    import functools
    import jax

    class Compiled:
        # What nnx.jit and eqx.filter_jit make: it has `lower` and its own call.
        def __init__(self, f):
            self.jitted, self.__wrapped__, self.calls = jax.jit(f), f, 0

        def __call__(self, *args):
            self.calls += 1
            return self.jitted(*args)

        def lower(self, *args):
            return self.jitted.lower(*args)

    @Compiled
    def step(x):
        return x * 2

    class Net:
        @functools.partial(jax.jit, static_argnums=0)
        def forward(self, x):
            return x * 3

    net, bound = Net(), functools.partial(step, )

    def inside(x):
        seen.append(isinstance(x, jax.core.Tracer))
        return x @ x

    seen = []
    traced = jax.jit(inside)
    traced_args = lambda size: (jax.numpy.ones((size, size)),)
    many = jax.pmap(inside)
    many_args = lambda: (jax.numpy.ones((4, 2, 2)),)
"""


def test_what_is_jitted_is_called_as_it_is(write: Write) -> None:
    path = write(JITTED)
    module, made = prepared(own("step", "f32[8]", file=path))
    assert module.step.calls
    assert made.call is module.step
    # It has no trace of its own, so lowering includes that.
    assert made.phases.trace is None
    assert made.phases.lower
    assert made.phases.compile
    _, made = prepared(own("net.forward", "f32[8]", file=path))
    assert made.phases.trace
    assert made.xla_count.flops == 8
    module, made = prepared(own("bound", "f32[8]", file=path))
    assert made.call is module.bound


def test_every_case_is_traced_cold_and_once(write: Write) -> None:
    path = write(JITTED)
    measured(*(own("traced", file=path, size=size) for size in (8, 16, 24, 32)))
    assert files.load_file(path).seen == 4 * [True]
    measured(own("traced", file=path, size=32))
    assert len(files.load_file(path).seen) > 4


def test_eager_needs_the_function_inside(write: Write) -> None:
    path = write(JITTED)
    module, made = prepared(own("traced", mode="eager", file=path, size=8))
    module.seen.clear()
    made.call(*made.args)
    assert module.seen == [False]
    assert refusal(own("many", mode="eager", file=path)).code == "no-eager-function"
    (found,) = measured(own("many", file=path))
    assert found.has("sharded")


def test_what_changes_its_arguments_in_place_is_called_and_never_wrapped(
    write: Write,
) -> None:
    path = write(
        """
        import jax

        @jax.jit
        def update(w):
            return w + 1

        def train(state):
            state["w"] = update(state["w"])
            return state["w"].sum()

        class Jitted:
            def __call__(self, state):
                return train(state)

            def lower(self, state):
                return update.lower(state["w"])

        step = Jitted()

        def make_args():
            return ({"w": jax.numpy.zeros(8)},)
        """
    )
    _, made = prepared(own("step", file=path))
    before = float(made.args[0]["w"][0])
    made.call(*made.args)
    assert before >= 1
    assert float(made.args[0]["w"][0]) == before + 1
    assert refusal(own("train", file=path)).code == "changes-arguments"
    (eager,) = measured(own("train", mode="eager", file=path))
    assert eager.ready is not None


def test_a_donation_stays_and_every_call_has_arguments(write: Write) -> None:
    path = write(
        """
        import functools
        import jax
        import jax.numpy as jnp

        @functools.partial(jax.jit, donate_argnums=0)
        def step(state, x):
            return jax.tree.map(lambda w: w * 0.5 + x.sum(), state), x

        def make_args():
            return {"a": jnp.ones((64, 64)), "b": jnp.ones(8)}, jnp.ones(8)
        """
    )
    jit, eager = measured(own("step", file=path), own("step", mode="eager", file=path))
    assert jit.has("donated")
    assert not eager.has("donated")
    _, made = prepared(own("step", file=path))
    first, second = tuple(made.args), tuple(made.args)
    made.call(*first)
    assert first[0]["a"].is_deleted()
    assert not second[0]["a"].is_deleted()
    # What is not donated is the same for every call.
    assert first[1] is second[1]


def test_in_another_process_nothing_cold_is_claimed_of_what_is_jitted(
    write: Write,
) -> None:
    path = write("import jax\nstep = jax.jit(lambda x: x + 1)\n")
    one = running.experiment(own("step", "f32[8]", file=path))
    (found,) = running.endings(experiment.run(one, own_process=False))
    assert isinstance(found, Measurement)
    assert found.phases.trace is found.phases.compile is None
    assert found.phases.first_call
    assert found.has("warm-phases")
    assert found.xla_flops == 8


# Arguments.


ARGUMENTS = """
    import functools
    import jax
    import jax.numpy as jnp
    import numpy as np

    class Config:
        scale = 3.0

    config = Config()

    def static(x, config, n):
        assert isinstance(n, int)
        return sum([x * config.scale] * n)

    jitted = jax.jit(static, static_argnums=(1, 2))

    def keyword(x, *, scale, y):
        return x * scale + y

    keyword_jitted = functools.partial(jax.jit, static_argnames="scale")(keyword)

    def plain(x, config):
        return x * config.scale

    def mixed(tree):
        return tree["f"](tree["x"])

    def static_args():
        return np.ones(8, np.float32), config, 3

    jitted_args = static_args

    def keyword_args():
        return {"x": jnp.ones(8), "scale": 2, "y": np.ones(8, np.float32)}

    keyword_jitted_args = keyword_args

    def plain_args():
        return jnp.ones(8), config

    def mixed_args():
        return ({"x": jnp.ones(8), "f": jnp.tanh},)
"""


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("static", "eager"),
        ("jitted", "jit"),
        ("jitted", "eager"),
        ("keyword", "jit"),
        ("keyword", "eager"),
        ("keyword_jitted", "jit"),
        ("plain", "jit"),
        ("mixed", "eager"),
    ],
)
def test_arguments_of_any_kind_are_left_alone(
    write: Write, name: str, mode: Any
) -> None:
    path = write(ARGUMENTS)
    (found,) = measured(own(name, mode=mode, file=path))
    assert found.case.dtype == "float32"
    assert not found.has("implicit-transfer") or name == "keyword"


def test_what_jit_cannot_take_is_an_error_of_jax(write: Write) -> None:
    remark = refusal(own("mixed", file=write(ARGUMENTS)))
    assert remark.code == "function-raised"
    assert "Error interpreting argument" in str(remark.facts["error"])
    assert "Choose mode eager" in words.text(remark)


def test_what_a_factory_does_not_take_is_an_error_of_python(write: Write) -> None:
    plain = own("plain", file=write(ARGUMENTS))
    (failed,) = running.endings(experiment.run(running.experiment(plain, seed=3)))
    assert isinstance(failed, Failure)
    assert "plain_args() " in str(failed.remark.facts["error"])


def test_what_fits_once_is_timed_and_never_copied(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(ARGUMENTS)
    monkeypatch.setattr(files, "to_host", None)
    room = SimpleNamespace(describe_device=str, free_bytes=lambda *_: 63)
    monkeypatch.setattr(coldpath, "devices", room)
    (found,) = measured(own("plain", file=path))
    assert found.phases.transfer is None
    assert found.phases.fetch
    noted = running.facts(found.notes)["uncopied"]
    assert noted == {"needed": 2 * 8 * 4, "free": 63}


# Many devices.


SHARDED = """
    import functools
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    try:
        from jax import shard_map
    except ImportError:
        from jax.experimental.shard_map import shard_map

    mesh = Mesh(np.array(jax.devices()), ("x",))

    def product(a, b):
        return a @ b

    def product_args():
        rows = NamedSharding(mesh, P("x", None))
        a = jax.device_put(np.ones((64, 64), np.float32), rows)
        return a, jax.device_put(a, NamedSharding(mesh, P()))

    @functools.partial(jax.jit, donate_argnums=0)
    def donating(a, b):
        return a + b

    donating_args = product_args

    @functools.partial(shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    def mapped(x):
        return x * 2

    def mapped_args():
        return (jnp.ones(64),)

    def elsewhere(x):
        return x + 1

    def elsewhere_args():
        return (jax.device_put(np.ones(8), jax.devices()[2]),)
"""


def test_shardings_are_kept(write: Write) -> None:
    path = write(SHARDED)
    _, made = prepared(own("product", file=path))
    result = made.call(*made.args)
    assert len(result.sharding.device_set) == 4
    # XLA's count is that of one device, a fourth of the product.
    assert made.xla_count.flops == pytest.approx(2 * 64**3 / 4, rel=0.1)
    assert made.phases.transfer is None
    _, made = prepared(own("donating", file=path))
    (first, _) = made.args
    assert len(first.sharding.device_set) == 4
    found, mapped = measured(own("product", file=path), own("mapped", file=path))
    assert found.has("sharded")
    assert mapped.has("sharded")
    (eager,) = measured(own("product", mode="eager", file=path))
    assert eager.flops is eager.flops_per_second is None


def test_what_lies_on_another_device_comes_to_that_of_the_case(write: Write) -> None:
    _, made = prepared(own("elsewhere", file=write(SHARDED)))
    assert made.args[0].devices() == {jax.devices()[0]}


def test_a_mesh_that_a_file_sets_holds_for_its_cases(write: Write) -> None:
    path = write(
        """
        import jax
        import jax.numpy as jnp
        import numpy as np
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

        mesh = Mesh(np.array(jax.devices()), ("x",))
        (getattr(jax, "set_mesh", None) or jax.sharding.set_mesh)(mesh)

        def step(x):
            meshes.append(jax.sharding.get_abstract_mesh().shape_tuple)
            return x * 2

        meshes = []

        def step_args():
            return (jax.device_put(np.ones(64), NamedSharding(mesh, P("x"))),)
        """
    )
    with files.undone():
        (step,) = measured(own("step", file=path))
        assert files.load_file(path).meshes[-1] == (("x", 4),)
    assert jax.sharding.get_abstract_mesh().empty
    assert step.has("sharded")


# What XLA says.


def test_a_call_of_a_library_has_no_rate(write: Write) -> None:
    path = write(
        """
        import jax.numpy as jnp
        qr = lambda x: jnp.linalg.qr(x)
        product = lambda x: x @ x
        """
    )
    cases = (own(name, "f32[64,64]", file=path) for name in ("qr", "product"))
    found, product = measured(*cases)
    assert found.flops is found.bytes is found.flops_per_second is None
    libraries = running.facts(found.notes)["own"]["libraries"]
    assert any("geqrf" in library for library in libraries)
    assert product.flops


def test_what_a_gpu_leaves_to_cublas_is_counted_as_it_was_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As an H200 answers with jax 0.11.2."""
    of_compiled: dict[str, Callable[[Any], Any]] = {
        "costs": lambda _: {"flops": -1.0, "bytes accessed": -1.0},
        "text_of": lambda text: f'{text} custom_call_target="__cublas$lt$matmul"',
    }

    def answer(name: str, stage: Any) -> Any:
        answered = originals[name](stage)
        compiled = hasattr(stage, "memory_analysis")
        return of_compiled[name](answered) if compiled else answered

    originals = {name: getattr(programs, name) for name in of_compiled}
    for name in of_compiled:
        monkeypatch.setattr(programs, name, partial(answer, name))
    mine, matmul = measured(
        own("product", "f32[400,400] f32[400,400]"), running.case("matmul", 400)
    )
    for product in (mine, matmul):
        assert product.flops == 2 * 400**3
        assert product.xla_flops in (None, product.flops)
        assert not product.has("folded")
    assert mine.bytes is None


def test_the_memory_of_a_donating_program_is_the_donated_one(write: Write) -> None:
    path = write(
        """
        import jax
        step = lambda x, y: x + y
        donating = jax.jit(step, donate_argnums=0)
        """
    )

    def memory(name: str) -> Any:
        one = own(name, "f32[512,512] f32[512,512]", file=path)
        events = inspection.run_inspection(Inspection(case=one))
        (found,) = (event for event in events if isinstance(event, Inspected))
        assert found.program.memory is not None
        return found.program.memory

    kept, donated = memory("step"), memory("donating")
    assert kept.aliased_bytes == 0
    assert donated.aliased_bytes == 512 * 512 * 4
    for found in (kept, donated):
        size = 512 * 512 * 4
        results = size - found.aliased_bytes
        assert found.peak_bytes >= 2 * size + results + found.temporaries_bytes
