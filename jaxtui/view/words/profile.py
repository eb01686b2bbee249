"""Profiles: what a step's time goes to, and what a trace does not show."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.view.words.base import Facts, Words

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
    """What the host does, by the name of its event: ``the host calls loss``."""
    if not name:
        return "the host runs Python outside JAX"
    if name.startswith("PjitFunction("):
        return f"the host calls {name[len('PjitFunction(') : -1]}"
    for begin, text in _ACTIVITIES:
        if name.startswith(begin):
            return text
    return f"the host runs {name}"


def _works(facts: Facts) -> str:
    whose = "The device works" if facts["devices"] == 1 else "The devices work"
    step = fmt.seconds(facts["step_seconds"])
    return f"{whose} {fmt.percent(facts['busy'])} of a step of {step}"


def _waits(facts: Facts) -> str:
    before = facts["before"]
    where = f"before {before}" if before else f"after {facts['after']}"
    return (
        f"{_works(facts)}; the longest wait, {fmt.seconds(facts['gap_seconds'])}, is"
        f" {where}, while {activity(facts['host'])}."
    )


def _dearest(facts: Facts) -> str:
    share, name = fmt.percent(facts["share"]), facts["row"] or "what XLA added"
    return f"{_works(facts)}; {name} takes the largest share, {share}."


def _cost(facts: Facts) -> str:
    plain, step = facts["plain_seconds"], facts["step_seconds"]
    times = fmt.ratio(step / plain)
    return (
        f"A step takes {fmt.seconds(plain)} without the profiler and"
        f" {fmt.seconds(step)} with it ({times})."
    )


def _steps_of(facts: Facts) -> str:
    text = f"A step is a run of {facts['program']}: {facts['steps']} of them."
    if facts["before_seconds"] > 0:
        text += (
            f" The {fmt.seconds(facts['before_seconds'])} before the first are left"
            " out."
        )
    return text


def _compiled(facts: Facts) -> str:
    return (
        f"JAX compiled {fmt.plural(facts['count'], 'function')}"
        f" ({fmt.some(facts['functions'])}) while it was profiled:"
        f" {fmt.seconds(facts['seconds'])} in all."
    )


def _too_slow(facts: Facts) -> str:
    return (
        f"A step takes {fmt.seconds(facts['seconds'])}: {facts['steps']} steps with and"
        " without the profiler overrun the budget of"
        f" {fmt.seconds(facts['budget'])}."
    )


def _change(facts: Facts) -> str:
    before, after = facts["before"], facts["after"]
    ends = f"{fmt.seconds(before)} before, {fmt.seconds(after)} now"
    text = f"A step takes {fmt.seconds(after)}."
    if before:
        text = f"A step takes {fmt.ratio(after / before)} the time: {ends}."
    if facts.get("row"):
        more = "slower" if facts["change"] > 0 else "faster"
        text += (
            f" The largest change: {facts['row']} is"
            f" {fmt.seconds(abs(facts['change']))} {more}."
        )
    return text


WORDS: dict[str, Words] = {
    "device-waits": Words("device time", _waits),
    "device-works": Words("device time", _dearest),
    "profile-cost": Words("cost of profiling", _cost),
    "lines-share": Words(
        "fused lines",
        "XLA fused several lines into one kernel: its time is divided among them by"
        " their work, which is a guess (marked ~). At most, a line takes all of it.",
    ),
    "compiled-inside": Words(
        "compiles",
        _compiled,
        "Profile later, or find out what changes between the calls.",
    ),
    "steps-of": Words("steps", _steps_of),
    "steps-annotated": Words(
        "steps",
        lambda facts: f"The program annotates {facts['steps']} steps itself.",
    ),
    "one-step": Words(
        "one step",
        "No program runs twice in this trace, so all of it counts as one step and there"
        " is no ±.",
    ),
    "fewer-steps": Words(
        "fewer steps",
        lambda facts: (
            f"A step writes {fmt.count(facts['events'])} events, so"
            f" {facts['steps']} of {facts['asked']} steps were profiled."
        ),
    ),
    "no-kernels": Words(
        "no kernels",
        lambda facts: (
            f"This trace shows no kernel of any device ({facts['planes']} planes,"
            f" {fmt.count(facts['events'])} events)."
        ),
        "Traces of a CPU before jax 0.8.3 want host_tracer_level=2; a GPU wants CUPTI.",
    ),
    "trace-not-in-folder": Words(
        "no trace",
        lambda facts: (
            f"{facts['path']} holds no .xplane.pb, the file that jax.profiler.trace"
            " writes."
        ),
    ),
    "trace-unreadable": Words(
        "no trace", lambda facts: f"{facts['path']} cannot be read."
    ),
    "trace-too-big": Words(
        "huge trace",
        lambda facts: (
            f"{facts['path']} has {fmt.bytes_text(facts['bytes'])}, and jaxtui reads at"
            f" most {fmt.bytes_text(facts['most'])}."
        ),
        "Profile fewer steps.",
    ),
    "trace-damaged": Words(
        "damaged trace",
        lambda facts: (
            f"{facts['path']} is no trace of JAX's profiler, or it is damaged."
        ),
        lambda facts: (
            "Name the .xplane.pb beside it."
            if facts["path"].endswith((".json.gz", ".json"))
            else ""
        ),
    ),
    "trace-of-several-hosts": Words(
        "several hosts",
        lambda facts: (
            f"The folder has the traces of {facts['files']} hosts; this is"
            f" {facts['file']}."
        ),
        "Name another file to see another host.",
    ),
    "reader-died": Words(
        "reader ended",
        lambda facts: f"The process that read the trace ended with {facts['status']}.",
        "If the machine ran out of memory, profile fewer steps.",
    ),
    "program-without-jax": Words(
        "no JAX", "The program ended without starting JAX, so nothing was profiled."
    ),
    "program-early": Words(
        "too early",
        "The program ended before its profile began.",
        "Begin earlier with --after.",
    ),
    "program-steps": Words(
        "too few steps",
        lambda facts: (
            f"The program annotated {fmt.plural(facts['steps'], 'step')}, and the"
            f" profile was to begin after {facts['asked']}."
        ),
        "Only steps inside jax.profiler.StepTraceAnnotation count; --after takes"
        " seconds.",
    ),
    "program-lost": Words(
        "trace lost",
        "The program ended without letting jaxtui write its trace, as os._exit and"
        " kills do.",
        "Let the profile end before it with --for.",
    ),
    "memory-peak": Words(
        "device memory",
        lambda facts: (
            f"At most {fmt.bytes_text(facts['bytes'])} were in use on the first device,"
            f" {fmt.seconds(facts['seconds'])} after the first step began."
        ),
    ),
    "profile-change": Words("change", _change),
    "too-many-events": Words(
        "too many events",
        lambda facts: (
            f"This trace has {fmt.count(facts['events'])} events, and jaxtui reads at"
            f" most {fmt.count(facts['most'])}."
        ),
        "Profile fewer steps.",
    ),
    "trace-errors": Words(
        "profiler errors",
        lambda facts: (
            f"The profiler reports {fmt.plural(facts['count'], 'error')}: events may be"
            " missing."
        ),
    ),
    "trace-warns": Words(
        "profiler warnings",
        lambda facts: f"The profiler reports {fmt.plural(facts['count'], 'warning')}.",
    ),
    "kernels-cut": Words(
        "kernels cut",
        lambda facts: (
            f"The trace ends before {fmt.plural(facts['count'], 'kernel')} did: their"
            " times are those of the calls."
        ),
    ),
    "kernels-unnamed": Words(
        "unnamed kernels",
        lambda facts: (
            f"{facts['count']} of {facts['of']} kernels don't say which instruction"
            " they are, as those of a CUDA graph don't."
        ),
        "Set XLA_FLAGS=--xla_gpu_enable_command_buffer= to see their names.",
    ),
    "kernels-by-order": Words(
        "CUDA graphs",
        lambda facts: (
            f"{facts['count']} of {facts['of']} kernels have no name of their own in a"
            " CUDA graph: the order of the program tells their lines (marked ~)."
        ),
    ),
    "no-lines": Words(
        "no source lines",
        lambda facts: (
            "The trace holds no program of its kernels, so their lines are unknown."
            if not facts["programs"]
            else "The programs of this trace say nothing of their source."
        ),
        lambda facts: (
            "On a TPU, compile nothing for the CPU in the same process."
            if not facts["programs"]
            else ""
        ),
    ),
    "profile-on-host": Words(
        "no profile",
        lambda facts: f"Mode {facts['mode']} runs no kernel of a JAX device.",
        "Choose mode jit or eager.",
    ),
    "profile-steps": Words(
        "steps",
        lambda facts: f"{facts['steps']} steps: 1 to {facts['most']} can be profiled.",
    ),
    "profile-too-slow": Words("slow step", _too_slow, "Take fewer --steps."),
}
