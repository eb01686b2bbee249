"""TensorFlow's own NumPy, where TensorFlow is installed beside JAX.

TensorFlow is kept off every accelerator: like JAX it takes most of a GPU's memory when
it starts, and the two would fight for it. So its cases run on the host, as NumPy's do.
Nothing here is imported before such a case is run.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import sys
from contextlib import AbstractContextManager
from typing import Any, cast

from jaxtui.tasks import inputs
from jaxtui.tasks.ops.base import Op
from jaxtui.tasks.waiting import Call


def is_installed() -> bool:
    """Return whether TensorFlow can be imported, without importing it."""
    if "tensorflow" in sys.modules:
        return True
    return importlib.util.find_spec("tensorflow") is not None


def call(op: Op) -> Call:
    """The op's TensorFlow form as a function of its arguments."""
    load()
    numpy = importlib.import_module("tensorflow.experimental.numpy")
    return functools.partial(op.forms["tensorflow"], numpy)


def make_inputs(op: Op, size: int, dtype: str, seed: int) -> tuple[Any, ...]:
    """Return NumPy's inputs as tensors; TensorFlow's NumPy has no bfloat16, either."""
    constant = load().constant
    with scope():
        arrays = inputs.numpy_inputs(op, size, dtype, seed)
        return tuple(constant(array) for array in arrays)


def scope() -> AbstractContextManager[Any]:
    """The context in which TensorFlow computes on the CPU."""
    return cast("AbstractContextManager[Any]", load().device("CPU:0"))


@functools.cache
def load() -> Any:
    """TensorFlow itself, without accelerators.

    Raises:
        ImportError: It is missing or broken.
    """
    tensorflow = importlib.import_module("tensorflow")
    # Too late if other code in this process has used TensorFlow already.
    with contextlib.suppress(RuntimeError):
        tensorflow.config.set_visible_devices([], "GPU")
    return tensorflow
