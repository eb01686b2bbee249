from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp

from jaxtui.measure.settings import enable_x64
from tests.measure.running import case, measured, own


def widest() -> str:
    return str(jnp.asarray(1.0, "float64" if jax.config.jax_enable_x64 else None).dtype)


def test_settings_of_a_file_hold_for_its_own_cases_alone(tmp_path: Path) -> None:
    file = tmp_path / "highest.py"
    file.write_text(
        "import jax, jax.numpy as jnp\n"
        "jax.config.update('jax_default_matmul_precision', 'highest')\n"
        "def product(x): return x @ x\n"
        "def product_args(): return (jnp.ones((8, 8)),)\n"
    )
    before = jax.config.jax_default_matmul_precision
    theirs = (own("product", mode=mode, file=str(file)) for mode in ("eager", "jit"))
    notes = {
        measurement.case.mode: {note.code for note in measurement.notes}
        for measurement in measured(*theirs, case("add", 8, "numpy"))
    }
    assert jax.config.jax_default_matmul_precision == before
    assert [mode for mode, codes in notes.items() if "settings" in codes] == [
        "eager",
        "jit",
    ]


def test_only_float64_widens_in_its_own_scope_and_thread() -> None:
    with enable_x64("int32"):
        assert widest() == "float32"
    with enable_x64("float64"), ThreadPoolExecutor(1) as pool:
        with enable_x64("float32"):
            assert widest() == "float32"
        assert widest() == "float64"
        assert pool.submit(widest).result() == "float32"
    assert widest() == "float32"
