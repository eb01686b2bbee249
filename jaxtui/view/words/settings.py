"""What settings of JAX do to a number, by name, as the end of a sentence."""

from __future__ import annotations

_NANS = "each call waits for its result and searches it for NaN"
_INFS = "each call waits for its result and searches it for infinities"
_GUARD = "JAX watches every transfer and logs or forbids implicit ones"
_OPTIMIZES = "XLA optimizes differently"
_FLAGS = "flags of the compiler are set, and any of them may change the timings"

EFFECTS: dict[str, str] = {
    "jax_disable_jit": "JAX compiles nothing",
    "jax_no_tracing": "JAX compiles nothing new",
    "jax_no_execution": "JAX executes nothing",
    "jax_debug_nans": _NANS,
    "jax_debug_infs": _INFS,
    "jax_disable_most_optimizations": _OPTIMIZES,
    "jax_transfer_guard": _GUARD,
    "jax_transfer_guard_host_to_device": _GUARD,
    "jax_transfer_guard_device_to_device": _GUARD,
    "jax_transfer_guard_device_to_host": _GUARD,
    "jax_default_matmul_precision": "it decides what precision default means",
    "jax_enable_x64": (
        "functions of your own have 64-bit types; an op has those of its dtype"
    ),
    "jax_cpu_enable_async_dispatch": "a CPU computes within the call",
    "jax_check_tracer_leaks": "JAX traces eager calls every time",
    "jax_enable_checks": "tracing and lowering check themselves",
    "jax_debug_key_reuse": "eager calls check their keys",
    "jax_error_checking_behavior_nan": "functions look for NaN",
    "jax_error_checking_behavior_divide": "functions look for zeros",
    "jax_error_checking_behavior_oob": "functions check indices",
    "jax_log_compiles": "trace and compile include writing logs",
    "jax_explain_cache_misses": "trace includes writing logs",
    "jax_enable_pgle": "JAX profiles functions and compiles them again",
    "jax_default_prng_impl": "it makes the random numbers",
    "jax_threefry_partitionable": "random numbers are made differently",
    "jax_optimization_level": _OPTIMIZES,
    "jax_exec_time_optimization_effort": _OPTIMIZES,
    "jax_memory_fitting_level": _OPTIMIZES,
    "jax_memory_fitting_effort": _OPTIMIZES,
    "xla_flags": _FLAGS,
    "libtpu_init_args": _FLAGS,
}


def effect(name: str) -> str:
    """What a setting does, whether it was named as a variable or as an option."""
    return EFFECTS[name.lower()]


def named(name: str, value: str) -> str:
    """A setting with its value, unless that is a list of compiler flags."""
    return name if name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS") else f"{name}={value}"
