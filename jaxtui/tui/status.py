"""The status line and the message line, as text."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.engine import startup
from jaxtui.model import CHECK_TESTS
from jaxtui.tui import roofline
from jaxtui.tui.state import CheckState, State
from jaxtui.view.bench import notes


def machine(state: State, room: int) -> str:
    """What there is: kind, number of devices and JAX's version, as far as it fits."""
    left = "jaxtui"
    if not state.devices or state.host is None:
        return left
    kind = state.devices[0].device_kind
    count = fmt.plural(len(state.devices), "device")
    for part in (kind, count, f"jax {state.host.jax}"):
        if len(left) + 2 + len(part) > room:
            break
        left = f"{left}  {part}"
    return left


def engine(state: State, waited: float) -> str:
    """What is held, or what is being waited for.

    Args:
        state: what is on screen.
        waited: seconds since the engine began to start.
    """
    if state.engine == "starting":
        return f"{startup.doing(state.start)}, {waited:.0f} s"
    if state.engine == "failed":
        return "NO ENGINE (R tries again)"
    if state.engine == "released":
        return "released: the next run takes it again"
    if state.accelerator is not None:
        return f"HOLDING {state.accelerator} (x frees)"
    return "SIMULATED" if simulated(state) else "CPU only"


def simulated(state: State) -> bool:
    """Whether any device is made up."""
    return any(device.simulated for device in state.devices)


def busy(state: State) -> bool:
    """Whether others used the cores during the whole run that is on screen."""
    run = state.run
    return run is not None and any(one.flag == "contended" for one in notes(run))


def settings(state: State, *, short: bool = False) -> str:
    """The settings of JAX that change numbers: the first, and how many more."""
    names = [*state.host.settings] if state.host is not None else []
    if not names or short:
        return "SETTINGS" if names else ""
    return names[0] + (f" +{len(names) - 1}" if names[1:] else "")


def progress(state: State, elapsed: float) -> str:
    """Elapsed and remaining of the running experiment; empty without one.

    Args:
        state: what is on screen.
        elapsed: seconds since the run, or the whole check, began, by the screen's own
            clock: the engine reports between turns only, and a compile may take
            minutes.
    """
    check, run = state.check, state.job
    if check.going:
        return f"test {check.place} of {len(CHECK_TESTS)}, {fmt.duration(elapsed)}"
    if run is None:
        return ""
    remaining = max(0.0, run.remaining_seconds - (elapsed - run.elapsed_seconds))
    return f"{fmt.duration(elapsed)}, {fmt.duration(remaining)} left"


def message(state: State) -> str:
    """One line: what there is to say, or else what the run is doing."""
    if state.message:
        return state.message
    if state.check.going:
        return _testing(state.check)
    if state.job is not None:
        return state.job.doing or "starting"
    if state.purpose == "roofs":
        return roofline.message(state)
    run = state.run
    if run is None or state.purpose != "bench":
        return ""
    statuses = [case.status for case in run.cases]
    trouble = "".join(
        f", {statuses.count(status)} {status}"
        for status in ("failed", "not run")
        if status in statuses
    )
    match run.outcome:
        case "cancelled":
            kept = "; its numbers stay" * any(one.measurement for one in run.cases)
            return f"Stopped after {run.elapsed_seconds:.1f} s{kept}."
        case "crashed":
            return "Incomplete: the engine was lost; what had arrived stays."
        case _:
            flags = ", ".join(note.flag for note in notes(run))
            whole = f" On the whole run: {flags}." if flags else ""
            return f"Done in {run.elapsed_seconds:.1f} s{trouble}.{whole}"


def _testing(check: CheckState) -> str:
    """The test that is running, and what it does."""
    doing = check.exam.what if check.exam is not None else ""
    return f"{check.test}: {doing or 'starting'}"
