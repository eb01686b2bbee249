"""64-bit types for one case, in one thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, cast

import jax
import jax.experimental


def enable_x64(dtype: str) -> AbstractContextManager[None]:
    """A scope in which JAX has 64-bit types exactly if ``dtype`` needs them.

    The setting is local to the thread. An array of float64 that is passed to a jitted
    function outside of the scope is silently computed in float32, so inputs, trace,
    lower and compile all belong inside. For every other dtype the scope switches 64-bit
    types *off*: with them on, an int32 index or a Python scalar would widen.
    """
    # jax.enable_x64 came in 0.8; the experimental one is gone since 0.9.
    scope: Any = getattr(jax, "enable_x64", None)
    if scope is None:
        scope = cast("Any", jax.experimental).enable_x64
    return cast("AbstractContextManager[None]", scope(dtype == "float64"))
