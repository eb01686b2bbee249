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
from jax._src import sharding_impls, xla_bridge

from jaxtui.measure.errors import RefusedError
from jaxtui.model import Case, Precision, Remark
from jaxtui.model.remark import Fact

Refused = Literal["", "verdicts", "jax"]
"""What a setting makes meaningless."""


class Setting(NamedTuple):
    """A setting that is not at its default."""

    name: str
    """As it was written where it was set: ``JAX_DEBUG_NANS`` or ``jax_debug_nans``."""
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
"""What JAX itself puts into ``LIBTPU_INIT_ARGS``."""

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
    """What is set, and what that makes meaningless."""
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
    """What ``default`` is for an op that takes a precision, if that was set."""
    for setting in deviations() if case.precision == "default" else ():
        if setting.name.lower() == "jax_default_matmul_precision":
            facts = {"value": setting.value, "setting": setting.name}
            yield Remark("precision", {**facts})


def waiting_notes(on_cpu: bool) -> Iterator[Remark]:
    """Why a call returns with its result, where that is not the op's own way."""
    for setting in deviations():
        name = setting.name.lower()
        if name in _WAITING or (on_cpu and name == "jax_cpu_enable_async_dispatch"):
            facts = {"setting": setting.name, "value": setting.value}
            yield Remark("waits", {**facts}, "warning")


class FileSettings:
    """JAX's configuration as the code of one file sets it, for its own cases only.

    Within the block its settings hold, and the mesh that it has set; at the end they
    are taken back, whenever they were made (import, arguments, calls), and they hold
    again in the next block. Of blocks within each other only the outermost counts. What
    JAX reads when a backend starts holds for the process.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._before: dict[str, object] = {}
        self._own: dict[str, object] = {}
        self._meshes: tuple[object, ...] = ()
        self._outer: tuple[object, ...] = ()
        self._depth = 0

    def __enter__(self) -> FileSettings:
        self._depth += 1
        if self._depth > 1:
            return self
        self._before = dict(jax.config.values)
        _update(self._own)
        self._outer = tuple(state.get_local() for state in _MESHES)
        for state, mesh in zip(_MESHES, self._meshes, strict=False):
            state.set_local(mesh)
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        self._own = self._changed()
        _update({name: self._before[name] for name in self._own})
        meshes = [
            state.swap_local(mesh)
            for state, mesh in zip(_MESHES, self._outer, strict=True)
        ]
        self._meshes = tuple(meshes) if meshes != [*self._outer] else ()

    def notes(self) -> Iterator[Remark]:
        """Which of its settings change a number; within the block."""
        changed = self._changed()
        own = [one for one in deviations() if one.name.lower() in changed]
        if own:
            yield Remark(
                "settings",
                {
                    "file": os.path.basename(self._file),
                    "settings": tuple(one.name.lower() for one in own),
                    "values": tuple(one.value for one in own),
                },
            )

    def _changed(self) -> dict[str, object]:
        return {
            name: value
            for name, value in jax.config.values.items()
            if name in self._before
            and value != self._before[name]
            and name not in AT_START
        }


AT_START = frozenset(
    {
        "jax_num_cpu_devices",
        "jax_platforms",
        "jax_platform_name",
        "jax_cpu_enable_async_dispatch",
        "jax_cpu_collectives_implementation",
        "jax_cuda_visible_devices",
        "jax_rocm_visible_devices",
        "jax_pjrt_client_create_options",
    }
)
"""What JAX reads when it starts a backend, and never again."""

VARIABLES_AT_START = re.compile(
    r"XLA_FLAGS|LIBTPU_INIT_ARGS|XLA_PYTHON_CLIENT_\w+|TPU_\w+|CUDA_VISIBLE_DEVICES"
    r"|(?:HIP|ROCR)_VISIBLE_DEVICES|NCCL_\w+"
)
"""Variables that are read when a backend starts, and never again."""

_CACHE = re.compile(r"jax_(?:\w+_)?(?:compilation|persistent)_cache\w*|jax_logging\w*")
"""Settings of JAX that jaxtui has for itself, whatever a file says."""

_CPU_DEVICES = "--xla_force_host_platform_device_count="

_started_with: dict[str, tuple[str, object]] = {}
"""The file that has set what JAX reads when it starts, and to what, by its name."""


def _backend_is_up() -> bool:
    return bool(xla_bridge.backends_are_initialized())


@contextmanager
def watched(file: str) -> Iterator[None]:
    """Refuse what a file sets meanwhile if that cannot mean what it does to Python.

    Raises:
        RefusedError: It came too late, or says other than what was said before.
    """
    name, up = os.path.basename(file), _backend_is_up()
    variables, values = dict(os.environ), dict(jax.config.values)
    yield
    for variable, text in os.environ.items():
        if variables.get(variable) == text:
            continue
        option = variable.lower()
        if option in values and not _CACHE.fullmatch(option):
            _apply(name, variable, option, text, up)
        elif VARIABLES_AT_START.fullmatch(variable):
            _refuse_late(name, variable, text, up)
    for option in AT_START & values.keys():
        value = jax.config.values[option]
        if value == values[option]:
            continue
        _refuse_late(name, option, value, up)
        asked = os.environ.get(option.upper(), str(value))
        if asked != str(value):
            raise _conflict(name, option, str(value), asked)
    count = int(jax.config.values.get("jax_num_cpu_devices", -1))
    _, _, flag = os.environ.get("XLA_FLAGS", "").partition(_CPU_DEVICES)
    if not up and count > 0 and flag and flag.split()[0] != str(count):
        raise _conflict(name, "XLA_FLAGS", flag.split()[0], str(count))


def _apply(name: str, variable: str, option: str, text: str, up: bool) -> None:
    """Have a variable that JAX has read before mean the same as its setting."""
    now = jax.config.values[option]
    value: object = text
    if isinstance(now, bool):
        value = text.lower() in ("1", "true", "yes", "on", "y", "t")
    elif isinstance(now, int):
        value = int(text) if text.lstrip("-").isdigit() else text
    if value == now:
        return
    if option not in AT_START:
        facts: dict[str, Fact] = {"file": name, "variable": variable}
        facts |= {"option": option, "value": repr(value)}
        raise RefusedError.of("variable-too-late", **facts)
    _refuse_late(name, variable, value, up)
    jax.config.update(option, cast("bool", value))


def _refuse_late(name: str, what: str, value: object, up: bool) -> None:
    if up:
        raise RefusedError.of("setting-too-late", file=name, setting=what)
    other, before = _started_with.setdefault(what, (name, value))
    if before != value:
        raise _conflict(name, what, str(value), str(before), other)


def _conflict(
    file: str, setting: str, value: str, other: str, by: str = ""
) -> RefusedError:
    facts: dict[str, Fact] = {"file": file, "setting": setting, "value": value}
    facts |= {"other": other, "by": by}
    return RefusedError(Remark("setting-conflict", facts, "error"))


_MESHES: tuple[Any, ...] = tuple(
    getattr(place, name)
    for name in ("abstract_mesh_context_manager", "device_context")
    # Before jax 0.12 they were settings.
    for place in (sharding_impls, jax_config)
    if hasattr(place, name)
)
"""Where ``jax.set_mesh`` puts the mesh of this thread; there is no other way to take
back what was set without a ``with``, as ``jax.sharding.set_mesh`` of 0.6.2 does."""

_NO_MESH = tuple(place.get_local() for place in _MESHES)
"""As it is before anything has set one."""


@contextmanager
def no_mesh() -> Iterator[None]:
    """A scope without the mesh that a file has set."""
    meshes = [
        place.swap_local(none) for place, none in zip(_MESHES, _NO_MESH, strict=True)
    ]
    try:
        yield
    finally:
        for place, mesh in zip(_MESHES, meshes, strict=True):
            place.set_local(mesh)


_files: dict[str, FileSettings] = {}


def of_file(path: str) -> FileSettings:
    """The settings of a file, the same for all of its cases."""
    return _files.setdefault(path, FileSettings(path))


def _update(values: dict[str, object]) -> None:
    for name, value in values.items():
        jax.config.update(name, cast("bool", value))


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
