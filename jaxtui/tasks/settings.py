"""Settings of JAX that change a number or make a verdict meaningless.

Debug settings are in the table if they were seen to change a figure or a verdict on
jax 0.10.2 (matmul, sigmoid and normal, jit and eager, and the quick check); those of
the compiler, of precision and of random numbers because they change the program.
Promotion rules, dumps and tracebacks changed nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, NamedTuple, cast

import jax
import jax.experimental
from jax._src import config as jax_config
from jax._src import sharding_impls

from jaxtui.core.model import Case, Precision, Remark
from jaxtui.core.model.remark import Fact
from jaxtui.tasks.errors import RefusedError

Refused = Literal["", "verdicts", "jax"]
"""The result that a setting makes meaningless."""


class Setting(NamedTuple):
    """A setting that is not at its default."""

    name: str
    """The name as written where it was set: ``JAX_DEBUG_NANS`` or
    ``jax_debug_nans``."""
    value: str
    refuses: Refused = ""

    @property
    def remark(self) -> Remark:
        facts: dict[str, Fact] = {
            "setting": self.name,
            "value": self.value,
            "refuses": self.refuses,
        }
        return Remark("setting", facts, "error" if self.refuses == "jax" else "warning")


_TABLE: tuple[tuple[str, object], ...] = (
    ("jax_disable_jit", False),
    ("jax_no_tracing", False),
    ("jax_no_execution", False),
    ("jax_debug_nans", False),
    ("jax_debug_infs", False),
    ("jax_disable_most_optimizations", False),
    ("jax_transfer_guard", None),
    ("jax_transfer_guard_host_to_device", None),
    ("jax_transfer_guard_device_to_device", None),
    ("jax_transfer_guard_device_to_host", None),
    ("jax_default_matmul_precision", None),
    ("jax_enable_x64", False),
    ("jax_cpu_enable_async_dispatch", True),
    ("jax_check_tracer_leaks", False),
    ("jax_enable_checks", False),
    ("jax_debug_key_reuse", False),
    ("jax_error_checking_behavior_nan", "ignore"),
    ("jax_error_checking_behavior_divide", "ignore"),
    ("jax_error_checking_behavior_oob", "ignore"),
    ("jax_log_compiles", False),
    ("jax_explain_cache_misses", False),
    ("jax_enable_pgle", False),
    ("jax_default_prng_impl", "threefry2x32"),
    ("jax_threefry_partitionable", True),
    ("jax_optimization_level", "UNKNOWN"),
    ("jax_exec_time_optimization_effort", 0.0),
    ("jax_memory_fitting_level", "O2"),
    ("jax_memory_fitting_effort", 0.0),
)
"""Names and defaults."""

_REFUSES: dict[str, Refused] = {
    "jax_disable_jit": "jax",
    "jax_no_tracing": "jax",
    "jax_no_execution": "jax",
    "jax_debug_nans": "verdicts",
    "jax_debug_infs": "verdicts",
    "jax_disable_most_optimizations": "verdicts",
}

COMPILER = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")
"""Variables that hold flags of the compiler."""

_BY_JAX = re.compile(r" ?--xla_tpu_use_enhanced_launch_barrier=true")
"""The option that JAX itself puts into ``LIBTPU_INIT_ARGS``."""

_SPLITS_CPU = re.compile(r"--xla_force_host_platform_device_count=(?!1$)\d+")

_WAITING = ("jax_debug_nans", "jax_debug_infs")

_FORBIDDING: dict[object, Refused] = {
    "disallow": "verdicts",  # arguments of the check are made from Python's numbers
    "disallow_explicit": "jax",
}

_PRECISIONS: dict[str, Precision] = {
    "high": "high",
    "bfloat16_3x": "high",
    "tensorfloat32": "high",
    "highest": "highest",
    "float32": "highest",
}
"""JAX's names for those above default; presets of algorithms count as default."""


def deviations() -> Iterator[Setting]:
    values = jax.config.values
    for name, default in _TABLE:
        value = values.get(name, default)
        if value in (default, "allow") or (
            # It sets those of the three directions as well.
            name.startswith("jax_transfer_guard_")
            and value == values.get("jax_transfer_guard")
        ):
            continue
        refuses = _REFUSES.get(name, "")
        if name.startswith("jax_transfer_guard"):
            refuses = _FORBIDDING.get(value, "")
        written = name.upper() if name.upper() in os.environ else name
        yield Setting(written, str(value), refuses)
    for name in COMPILER:
        value = _BY_JAX.sub("", os.environ.get(name, ""))
        # Devices that share the CPU are called SIMULATED wherever they are shown.
        if not all(map(_SPLITS_CPU.fullmatch, value.split())):
            yield Setting(name, value)


def remarks() -> Iterator[Remark]:
    """Yield a remark for each setting, with the result it makes meaningless."""
    return (setting.remark for setting in deviations())


def check() -> None:
    """Refuse whatever is of JAX if a setting makes that meaningless."""
    for setting in deviations():
        if setting.refuses == "jax":
            raise RefusedError(setting.remark)


def precision(case: Case) -> Precision:
    """The precision that the products of a case really have."""
    if case.precision != "default":
        return case.precision
    configured = str(jax.config.values.get("jax_default_matmul_precision"))
    return _PRECISIONS.get(configured, "default")


def precision_notes(case: Case) -> Iterator[Remark]:
    """Yield what ``default`` precision is, if a setting changes it."""
    for setting in deviations() if case.precision == "default" else ():
        if setting.name.lower() == "jax_default_matmul_precision":
            facts = {"value": setting.value, "setting": setting.name}
            yield Remark("precision", {**facts})


def waiting_notes(on_cpu: bool) -> Iterator[Remark]:
    """Yield the settings that make a call wait for its result."""
    for setting in deviations():
        name = setting.name.lower()
        if name in _WAITING or (on_cpu and name == "jax_cpu_enable_async_dispatch"):
            facts = {"setting": setting.name, "value": setting.value}
            yield Remark("waits", {**facts}, "warning")


def notes() -> Iterator[Remark]:
    """Yield the settings made by code: the file's or the calling program's."""
    # What the environment sets is said once, of the whole run.
    if code := [setting for setting in deviations() if setting.name.islower()]:
        facts: dict[str, Fact] = {"settings": tuple(setting.name for setting in code)}
        facts["values"] = tuple(setting.value for setting in code)
        yield Remark("settings", facts)


class State(NamedTuple):
    """The settings that code can make for all that runs after it in this process."""

    values: dict[str, object]
    """JAX's configuration."""
    mesh: object
    variables: dict[str, str]
    """Environment variables that JAX, XLA and drivers read."""

    def differs(self, other: State) -> bool:
        """Return whether a setting changed; options added by a library don't count."""
        return (self.mesh, self.variables) != (other.mesh, other.variables) or any(
            self.values[name] != other.values[name]
            for name in self.values.keys() & other.values.keys()
            if not _CACHE.fullmatch(name)
        )


def state() -> State:
    return State(
        values=dict(jax.config.values),
        mesh=jax.sharding.get_abstract_mesh(),
        variables={
            name: text
            for name, text in os.environ.items()
            if _VARIABLES.fullmatch(name) and not _CACHE.fullmatch(name.lower())
        },
    )


_VARIABLES = re.compile(
    r"(?:JAX|XLA|LIBTPU|TPU|NCCL)_\w+|(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES"
)

_CACHE = re.compile(r"jax_(?:\w+_)?(?:compilation|persistent)_cache\w*|jax_logging\w*")
"""Settings of JAX that change no figure, or that jaxtui has for itself."""


def read_variables(before: State) -> None:
    """Have variables that a file has set mean what they do to ``python file.py``.

    JAX reads them when it is imported, which was before.
    """
    for name, text in state().variables.items():
        option = name.lower()
        if before.variables.get(name) == text or option not in jax.config.values:
            continue
        now, value = jax.config.values[option], cast("Any", text)
        if isinstance(now, bool):
            value = text.lower() in ("1", "true", "yes", "on", "y", "t")
        elif isinstance(now, (int, float)):
            value = type(now)(text)
        if value != now:
            jax.config.update(option, value)


@contextmanager
def restored() -> Iterator[None]:
    """A scope after which JAX's configuration and its mesh are what they were."""
    values = dict(jax.config.values)
    with _meshes():
        try:
            yield
        finally:
            for name, value in values.items():
                if jax.config.values[name] != value:
                    jax.config.update(name, cast("Any", value))


_MESHES: tuple[Any, ...] = tuple(
    getattr(place, name)
    for name in ("abstract_mesh_context_manager", "device_context")
    # Before jax 0.12 they were settings.
    for place in (sharding_impls, jax_config)
    if hasattr(place, name)
)
"""The places where ``jax.set_mesh`` puts this thread's mesh; there is no other way to
undo a mesh that was set without a ``with``, as ``jax.sharding.set_mesh`` of 0.6.2
does."""

_NO_MESH = tuple(place.get_local() for place in _MESHES)
"""Their values before a mesh is set."""


@contextmanager
def _meshes(*inside: object) -> Iterator[None]:
    """A scope with these, or with what there is, after which they are as before."""
    before = [place.get_local() for place in _MESHES]
    try:
        for place, mesh in zip(_MESHES, inside, strict=False):
            place.set_local(mesh)
        yield
    finally:
        for place, mesh in zip(_MESHES, before, strict=True):
            place.set_local(mesh)


def no_mesh() -> AbstractContextManager[None]:
    """A scope without the mesh that a file has set."""
    return _meshes(*_NO_MESH)


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
