"""Profiles: what a step's time goes to, and what a trace does not show."""

from __future__ import annotations

from jaxtui.core import format as fmt
from jaxtui.core.wording import Facts, Words

_ACTIVITIES = (
    ("backend_compile", "XLA compiles"),
    ("lower", "JAX lowers a function"),
    ("trace", "JAX traces a function"),
    ("np.asarray", "the host fetches an array"),
    ("TransferFromDevice", "the host fetches an array"),
    ("TransferToDevice", "the host sends an array"),
    ("DevicePut", "the host sends an array"),
    ("BatchedDevicePut", "the host sends an array"),
    ("CommonPjRtLoadedExecutable", "the runtime starts a program"),
    ("ExecuteReplicated", "the runtime starts a program"),
    ("PjRtCpuExecutable", "the runtime starts a program"),
    ("TfrtCpuExecutable", "the runtime starts a program"),
    ("TfrtTpuLoadedExecutable", "the runtime starts a program"),
    ("AllocateOutput", "the runtime allocates results"),
    ("ParseArguments", "the host reads the arguments of a call"),
)


def activity(name: str) -> str:
    """Describe an event of the host: ``the host calls loss``."""
    if not name:
        return "the host runs Python outside JAX"
    if name.startswith("PjitFunction("):
        return f"the host calls {name[len('PjitFunction(') : -1]}"
    for begin, text in _ACTIVITIES:
        if name.startswith(begin):
            return text
    return f"the host runs {name}"


def _works(facts: Facts) -> str:
    whose = "the device is" if facts["devices"] == 1 else "the devices are"
    where = "On this busy machine " if facts["disturbed"] else ""
    step = fmt.seconds(facts["step_seconds"])
    text = f"{where}{whose} busy {fmt.percent(facts['busy'])} of a {step} step"
    return text[0].upper() + text[1:]


def _waits(facts: Facts) -> str:
    before = facts["before"]
    where = f"before {before}" if before else f"after {facts['after']}"
    return (
        f"{_works(facts)}; the longest gap, {fmt.seconds(facts['gap_seconds'])}, comes"
        f" {where}, while {activity(facts['host'])}."
    )


def _no_kernels_advice(facts: Facts) -> str:
    causes = ["Profile while a device computes."]
    if facts["level"]:
        causes.append("On a CPU before jax 0.8.3, trace with host_tracer_level=2.")
    if facts["cupti"]:
        causes.append("On a GPU, check that CUPTI is installed.")
    return " ".join(causes)


def _dearest(facts: Facts) -> str:
    share, name = fmt.percent(facts["share"]), facts["row"] or "what XLA added"
    return f"{_works(facts)}; {name} takes the largest share, {share}."


def _cost(facts: Facts) -> str:
    plain, step = facts["plain_seconds"], facts["step_seconds"]
    times = fmt.ratio(step / plain)
    return (
        f"A step takes {fmt.seconds(plain)} in a plain loop and {fmt.seconds(step)}"
        f" awaited under the profiler ({times})."
    )


def _steps_of(facts: Facts) -> str:
    text = f"{facts['steps']} steps: each run of {facts['program']} counts as one."
    if facts["before_seconds"] > 0:
        text += f" jaxtui left out {fmt.seconds(facts['before_seconds'])} before them."
    return text


def _change(facts: Facts) -> str:
    before, after = facts["before"], facts["after"]
    ends = f"{fmt.seconds(before)} before, {fmt.seconds(after)} now"
    text = f"A step takes {fmt.seconds(after)}."
    if before:
        text = f"A step takes {fmt.ratio(after / before)} its earlier time: {ends}."
    if facts.get("row"):
        more = "slower" if facts["change"] > 0 else "faster"
        text += (
            f" The largest change: {facts['row']} is"
            f" {fmt.seconds(abs(facts['change']))} {more}."
        )
    return text


def _graph(facts: Facts) -> str:
    return "HIP graph" if facts.get("amd") else "CUDA graph"


WORDS: dict[str, Words] = {
    "device-waits": Words("device time", _waits),
    "device-works": Words("device time", _dearest),
    "profile-cost": Words("cost of profiling", _cost),
    "lines-share": Words(
        "fused lines",
        "XLA fused several lines into one kernel. jaxtui divides its time among them by"
        " their work, an estimate (marked ~); at most, one line takes all of it.",
    ),
    "compiled-inside": Words(
        "compiles",
        "JAX compiled {count:function} ({functions:some}) during the profile,"
        " {seconds:s} in total.",
        "Warm up before the profile, or find out which shape or dtype changes between"
        " calls.",
    ),
    "retraced-inside": Words(
        "retraces",
        "JAX traced {count:function} again ({functions:some}) and found them in its"
        " cache, {seconds:s} in total.",
        "Call `jax.jit` once for each function, outside of loops.",
    ),
    "steps-of": Words("steps", _steps_of),
    "steps-annotated": Words(
        "steps",
        "The program annotates {steps} steps itself.",
    ),
    "one-step": Words(
        "one step",
        "No program runs twice in this trace: the whole trace is one step, without ±.",
    ),
    "fewer-steps": Words(
        "fewer steps",
        "jaxtui profiled {steps} of {asked} steps: each writes {events:,} events.",
    ),
    "no-kernels": Words(
        "no kernels",
        "The trace shows no work of any device ({events:event}).",
        _no_kernels_advice,
    ),
    "trace-not-in-folder": Words(
        "no trace",
        "There is no .xplane.pb in {path}; jax.profiler.trace writes one.",
    ),
    "trace-unreadable": Words("no trace", "Cannot read {path}."),
    "trace-too-big": Words(
        "huge trace",
        "{path} has {bytes:B}; jaxtui reads at most {most:B}.",
        "Profile fewer steps.",
    ),
    "trace-damaged": Words(
        "damaged trace",
        "{path} is not a trace of JAX's profiler, or it is damaged.",
        lambda facts: (
            "Name the .xplane.pb in the same folder."
            if facts["path"].endswith((".json.gz", ".json"))
            else ""
        ),
    ),
    "trace-of-several-runs": Words(
        "several captures",
        "The folder has {runs} captures; this is the latest, {run}.",
        "Give the folder of another one to see that.",
    ),
    "trace-of-several-hosts": Words(
        "several hosts",
        "The folder has the traces of {files} hosts; this is {file}.",
        "Name another file to see another host.",
    ),
    "reader-died": Words(
        "reader ended",
        "The process that read the trace ended with exit status {status}.",
        "If the machine ran out of memory, profile fewer steps.",
    ),
    "reader-hung": Words(
        "reader ended",
        "The process that read the trace did nothing for {seconds:.0f} s. jaxtui"
        " ended it.",
        "Copy the trace to a local disk.",
    ),
    "program-without-jax": Words(
        "no JAX", "The program ended without starting JAX, so nothing was profiled."
    ),
    "program-failed": Words(
        "failed program",
        "The program failed before the profile began, so nothing was profiled.",
    ),
    "program-early": Words(
        "too early",
        "The program ended before the profile began.",
        "Begin the profile earlier.",
    ),
    "program-steps": Words(
        "too few steps",
        "The program annotated {steps:step}; the profile would have begun after"
        " {asked}.",
        "Only steps inside jax.profiler.StepTraceAnnotation count; a profile can also"
        " begin after some seconds.",
    ),
    "program-lost": Words(
        "trace lost",
        "The program ended before jaxtui could write the trace, as after os._exit or a"
        " kill.",
        "End the profile earlier.",
    ),
    "memory-peak": Words(
        "device memory",
        "Peak memory of the first device: {bytes:B}, {seconds:s} after the first"
        " step began.",
    ),
    "profile-change": Words("change", _change),
    "too-many-events": Words(
        "too many events",
        "This trace has {events:,} events; jaxtui reads at most {most:,}.",
        "Profile fewer steps.",
    ),
    "trace-errors": Words(
        "profiler errors",
        "The profiler reports {count:error}: events may be missing.",
    ),
    "trace-warns": Words(
        "profiler warnings",
        "The profiler reports {count:warning}.",
    ),
    "kernels-cut": Words(
        "kernels cut",
        "The trace ended while {count:kernel} still ran; their times are those of"
        " the calls.",
    ),
    "kernels-shortened": Words(
        "kernel times",
        lambda facts: (
            f"Under the profiler the kernels took {fmt.ratio(1 / facts['part'])} a"
            " plain step. jaxtui shortened their times to fit."
        ),
    ),
    "kernels-unnamed": Words(
        "unnamed kernels",
        lambda facts: (
            f"{facts['count']} of {facts['of']} kernels have no HLO name, as inside a"
            f" {_graph(facts)}."
        ),
        lambda facts: (
            "Set XLA_FLAGS=--xla_gpu_enable_command_buffer= to turn"
            f" {_graph(facts)}s off."
        ),
    ),
    "kernels-by-order": Words(
        "CUDA graphs",
        "{graph} of {of} kernels ran in a CUDA graph. jaxtui took the lines of"
        " {count} from the program's order (marked ~).",
    ),
    "no-lines": Words(
        "no source lines",
        lambda facts: (
            "The trace has no HLO of its kernels, so their source lines are unknown."
            if not facts["programs"]
            else "The HLO in this trace names no source lines."
        ),
        lambda facts: (
            "On a TPU, don't compile for the CPU in the same process."
            if not facts["programs"]
            else ""
        ),
    ),
    "profile-on-host": Words(
        "no profile",
        "Mode {mode} runs nothing on a JAX device.",
        "Choose mode jit or eager.",
    ),
    "profile-steps": Words(
        "steps",
        "jaxtui profiles 1 to {most} steps, not {steps}.",
    ),
}
