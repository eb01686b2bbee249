from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxtui.core.model import CaseMeasured
from jaxtui.features.bench.measure import experiment
from jaxtui.tasks import own as files
from jaxtui.tasks.settings import enable_x64
from tests.tasks.running import case, own
from tests.tasks.running import experiment as asked

CONFIG: Any = jax.config


def widest() -> str:
    return str(jnp.asarray(1.0, "float64" if CONFIG.jax_enable_x64 else None).dtype)


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("late", [False, True])
def test_a_file_that_sets_something_has_its_run_alone(
    write: Callable[..., str], late: bool
) -> None:
    setting = "jax.config.update('jax_default_matmul_precision', 'highest')"
    path = write(
        f"""
        import jax, jax.numpy as jnp
        {"" if late else setting}
        def product(x): return x @ x
        def product_args():
            {setting if late else ""}
            return (jnp.ones((8, 8)),)
        """
    )
    cases = [own("product", mode=mode, file=path) for mode in ("eager", "jit")]
    before = CONFIG.jax_default_matmul_precision
    with files.undone():
        events = [*experiment.run(asked(case("matmul", 8, "eager"), *cases))]
        assert CONFIG.jax_default_matmul_precision == "highest"
    assert CONFIG.jax_default_matmul_precision == before
    ended = {e.index: e.measurement for e in events if isinstance(e, CaseMeasured)}
    assert {*ended} == {1, 2}
    assert all(measured.has("settings") for measured in ended.values())


def test_only_float64_widens_in_its_own_scope_and_thread() -> None:
    with enable_x64("int32"):
        assert widest() == "float32"
    with enable_x64("float64"), ThreadPoolExecutor(1) as pool:
        with enable_x64("float32"):
            assert widest() == "float32"
        assert widest() == "float64"
        assert pool.submit(widest).result() == "float32"
    assert widest() == "float32"
