"""Words on programs of XLA, and on cases and functions that cannot run."""

from __future__ import annotations

from collections.abc import Callable

from jaxtui.core import format as fmt
from jaxtui.core.text import did_you_mean
from jaxtui.core.wording import Facts, Words

_PLATFORMS = {"cpu": "a CPU", "tpu": "a TPU", "gpu": "a GPU"}


def _lower_bound(facts: Facts) -> str:
    work, rate, what = (
        (fmt.rate(facts["work"], "FLOP"), fmt.rate(facts["rate"]), "peak")
        if facts["by"] == "compute"
        else (fmt.rate(facts["work"], "B"), fmt.rate(facts["rate"], "B/s"), "bandwidth")
    )
    return (
        f"No call is faster than {fmt.seconds(facts['seconds'])}: {work} at the"
        f" device's {what} of {rate}. Only a run shows how much slower it is."
        f" Peaks: {facts['source']}."
    )


def _listed(key: str, verb: str = "Choose one of") -> Callable[[Facts], str]:
    """Advice that lists what there is."""
    return lambda facts: f"{verb} {', '.join(facts[key])}."


def _functions(facts: Facts) -> str:
    names = facts["functions"]
    if not names:
        return "The file defines no function."
    near = did_you_mean(facts["name"], names)
    return f"The file defines {', '.join(names)}.{near}"


WORDS: dict[str, Words] = {
    "lower-bound": Words("lower bound", _lower_bound),
    "compute-peak-unknown": Words(
        "no compute peak",
        "No peak for {dtype} arithmetic is published for this device, so only the"
        " memory traffic bounds the call.",
    ),
    "peaks-unknown": Words(
        "no lower bound",
        "jaxtui knows no published peak of {device_kind}.",
    ),
    "traffic-unknown": Words(
        "no lower bound",
        "jaxtui doesn't know how many bytes a function of your own must move.",
    ),
    "program-hidden": Words(
        "program not shown", "This jax doesn't show the compiled program."
    ),
    "transcendentals-apart": Words(
        "transcendentals",
        "XLA counts exponentials and the like separately; jaxtui's formula counts each"
        " as one flop.",
    ),
    "kernel-interpreted": Words(
        "interpreted kernel",
        "On a CPU, JAX interprets Pallas kernels. This is the interpreter's program.",
    ),
    "loop-counted-once": Words(
        "loop", "XLA counts the body of a loop once, however often it runs."
    ),
    "custom-call-uncounted": Words(
        "custom call", "XLA can't see inside a custom call and counts none of its work."
    ),
    "memory-unknown": Words(
        "device memory unknown",
        "jaxtui doesn't know how much memory a {device_kind} has.",
    ),
    # Topologies.
    "topology-refused": Words(
        "topology refused",
        'libtpu rejects the topology "{topology}".',
        "Write a family and its chips per dimension, as in v5e:2x4 or v4:2x2x1.",
    ),
    "arguments-spread": Words(
        "several devices",
        "{name} spreads its arguments over {count} devices.",
        "jaxtui compiles for one device: place the arguments on one in the file.",
    ),
    # Programs.
    "no-program": Words(
        "nothing compiled",
        "Mode {mode} doesn't go through XLA.",
        "Choose mode jit or eager.",
    ),
    "compiled-already": Words(
        "already compiled",
        "{name} is compiled already.",
        "Define the function in the file, and compile it under another name.",
    ),
    # Cases.
    "op-unknown": Words(
        "unknown op",
        lambda f: f"There is no op {f['op']}.{did_you_mean(f['op'], f['ops'])}",
        "`jaxtui ops` lists them.",
    ),
    "dtype-missing": Words(
        "dtype not supported",
        "{op} doesn't run in {dtype}.",
        _listed("dtypes"),
    ),
    "dtype-not-on-platform": Words(
        "dtype not supported",
        lambda f: (
            f"{f['op']} doesn't run in {f['dtype']} on"
            f" {_PLATFORMS.get(f['platform'], f['platform'])}: XLA rejects it there."
        ),
        _listed("dtypes"),
    ),
    "mode-missing": Words(
        "mode not available",
        "{op} has no mode {mode}.",
        _listed("modes"),
    ),
    "size-too-small": Words(
        "size too small",
        "{op} has no size {size}; the smallest is {least} ({means}).",
    ),
    "size-too-large": Words(
        "size too large",
        "{op} has no size {size}: its int32 indices end at {most}.",
    ),
    "device-unknown": Words(
        "unknown device",
        "There is no device {device}.",
        "Choose one of {devices:some}; `jaxtui devices` lists them.",
    ),
    "device-of-other-process": Words(
        "another process",
        "{device} belongs to process {process}, not to this one.",
        "Choose a device of this process.",
    ),
    "tensorflow-missing": Words(
        "TensorFlow missing",
        "TensorFlow isn't installed where the engine runs.",
        "Run `pip install 'jaxtui[tensorflow]'` there.",
    ),
    # Functions of files.
    "file-missing": Words(
        "no such file",
        lambda f: (
            f"There is no file {f['file']}."
            + (f" Did you mean {f['near']}?" if f.get("near") else "")
        ),
        "Name a Python file and a function, as in train.py:step.",
    ),
    "file-unreadable": Words(
        "unreadable file",
        "Cannot read {file}: {why:.}",
    ),
    "function-missing": Words(
        "no such function",
        "{file} has no function {name}.",
        _functions,
    ),
    "changes-arguments": Words(
        "changes its arguments",
        "{name} changes its arguments in place. jax.jit would drop those changes,"
        " and XLA the work behind them.",
        "Decorate it with what it is written for, such as nnx.jit, return the new"
        " values, or choose mode eager.",
    ),
    "no-eager-function": Words(
        "compiled only",
        "{name} is already jitted, so eager mode is not available.",
        "Choose mode jit.",
    ),
    "own-precision": Words(
        "no precision",
        "{op} takes no precision.",
        "Set it in the function, as with jax.default_matmul_precision.",
    ),
    "arguments-invalid": Words(
        "invalid arguments",
        '"{arguments}" is not a list of arguments.',
        "Type each like f32[1024,1024].",
    ),
    "size-beside-arguments": Words(
        "size and arguments",
        "The typed arguments of {op} decide its size.",
        "Leave out the size, or the arguments.",
    ),
    "arguments-missing": Words(
        "arguments missing",
        "jaxtui doesn't know what to pass to {name} as {required:,}.",
        "Define {name}_args(size) or make_args(size) beside it, which returns the"
        " tuple of its arguments, or type each like f32[1024,1024].",
    ),
    "no-numpy-form": Words(
        "no NumPy form",
        "{name} has no mode numpy.",
        "Define {name}_numpy beside it, or choose jit or eager.",
    ),
    "precision-lost": Words(
        "precision lost",
        "The case asks for float64, and JAX computed in {dtype}.",
        "Leave jax_enable_x64 to jaxtui.",
    ),
    "no-jax-array": Words(
        "no JAX array",
        "{name} returned no JAX array, so jaxtui has nothing to wait for.",
        "Return what the function computes. Time NumPy code in mode numpy, as"
        " {name}_numpy.",
    ),
}
