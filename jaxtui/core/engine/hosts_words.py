"""Several hosts as one: who is missing, who does not fit, who is gone."""

from __future__ import annotations

import time

from jaxtui.core.format import plural
from jaxtui.core.wording import Facts, Words

SHOWN = 8
"""Processes named of many that are missing."""

LAUNCHERS = {
    "ompi": "Open MPI",
    "slurm": "Slurm",
    "gcetpu": "Cloud TPU",
    "gketpu": "GKE",
    "k8s": "Kubernetes",
}
"""JAX's names for what has started the processes."""


def _several(numbers: tuple[int, ...], names: tuple[str, ...]) -> str:
    """``process 3 (node-3)``, ``processes 1, 2 and 3``; ``other processes`` where it is
    not known which.
    """
    if not numbers:
        return "other processes"
    named = names if len(names) == len(numbers) else ("",) * len(numbers)
    pairs = zip(numbers, named, strict=True)
    texts = [f"{number} ({name})" if name else str(number) for number, name in pairs]
    if len(texts) == 1:
        return f"process {texts[0]}"
    if len(texts) > SHOWN:
        return f"{len(texts)} processes ({', '.join(texts[:SHOWN])} …)"
    return f"processes {', '.join(texts[:-1])} and {texts[-1]}"


def waiting(facts: Facts) -> str:
    """``waiting for process 3 (node-3)``."""
    return f"waiting for {_several(facts['missing'], facts['names'])}"


def _host(facts: Facts) -> str:
    name = f" ({facts['hostname']})" if facts.get("hostname") else ""
    return f"process {facts['process']}{name}"


def _obstacle(facts: Facts) -> str:
    where = facts["coordinator"]
    match facts.get("obstacle"):
        case "unknown-host":
            return f"The name {where.rpartition(':')[0]} doesn't resolve."
        case "refused":
            return f"Nothing listens at {where} yet."
        case "unreachable":
            return f"{where} doesn't answer."
        case _:
            return f"Process 0 at {where} names those that it waits for."


def _awaited(facts: Facts) -> str:
    absent = _several(facts["missing"], facts["names"])
    waiting = f"Process {facts['process']} of {facts['processes']} has waited"
    text = f"{waiting} {facts['seconds']:.0f} s for {absent}."
    if facts["process"]:
        text += f" {_obstacle(facts)}"
    if facts.get("proxy"):
        text += f" {facts['proxy']} is set; jaxtui reaches the coordinator without it."
    return text


def _missing(facts: Facts) -> str:
    absent = _several(facts["missing"], facts["names"])
    text = f"{_capital(absent)} did not join within {facts['seconds']:g} s."
    if facts["process"]:
        text += f" {_obstacle(facts)}"
    return text


def _awaited_advice(facts: Facts) -> str:
    if facts["launcher"]:
        by = LAUNCHERS.get(facts["launcher"], facts["launcher"])
        start = f"{by} counts {facts['processes']} processes: start the same command"
        start += " in each of them"
    else:
        start = f"Start the same command with --coordinator {facts['coordinator']}"
        start += f" --num-processes {facts['processes']} and its own --process-id"
    alone = "--num-processes 1"
    if facts["launcher"] in ("gcetpu", "gketpu") or facts.get("chips"):
        alone = "--this-host"
    return f"{start}. {alone} uses this host alone."


def _differ(facts: Facts) -> str:
    there, first = _host(facts), f"Process 0 ({facts['first']})"
    if facts["what"] == "processes":
        expected = plural(facts["first_has"], "process")
        return f"{first} expects {expected}, {there} expects {facts['has']}."
    what = "Python" if facts["what"] == "python" else facts["what"]
    return f"{first} has {what} {facts['first_has']}, {there} has {facts['has']}."


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _at(facts: Facts) -> str:
    """Write the time on the clock of this host."""
    moment = facts.get("at")
    return time.strftime(" at %H:%M:%S", time.localtime(moment)) if moment else ""


_AGAIN = "The results so far are kept. Start the command again on every host."


WORDS: dict[str, Words] = {
    "hosts-awaited": Words("waiting", _awaited, _awaited_advice),
    "hosts-missing": Words(
        "host missing",
        _missing,
        lambda f: (
            f"{_awaited_advice(f)} --start-limit SECONDS waits longer, 0 forever."
        ),
    ),
    "process-taken": Words(
        "index taken",
        "Two processes claim to be process {process} of {processes}; this one, on"
        " {hostname}, is the second.",
        "Give each process its own --process-id.",
    ),
    "coordinator-port": Words(
        "port taken",
        lambda f: (
            f"Port {f['port']} is already in use on this host."
            if f["taken"]
            else f"No permission to listen on port {f['port']}."
        ),
        "Choose another port for --coordinator, the same on every host.",
    ),
    "cluster-unreadable": Words(
        "unclear cluster",
        lambda f: (
            f"{LAUNCHERS.get(f['launcher'], f['launcher'])} seems to have started this"
            f" process, but JAX can't tell which of them it is: {f['error']}. This"
            " process runs alone."
        ),
        "Give --coordinator, --num-processes and --process-id to work with others.",
    ),
    "cluster-unknown": Words(
        "unclear cluster",
        lambda f: (
            f"{LAUNCHERS[f['launcher']]} started {f['processes']} processes, but says"
            " nothing of where process 0 is."
        ),
        "Give --coordinator, --num-processes and --process-id to work with others;"
        " --num-processes 1 uses this host alone.",
    ),
    "hosts-differ": Words(
        "different versions",
        _differ,
        lambda f: (
            "Give the same --num-processes everywhere."
            if f["what"] == "processes"
            else "Install the same versions on every host."
        ),
    ),
    "host-not-up": Words(
        "host not up",
        lambda f: f"JAX did not start in {_host(f)}. Its output says why.",
    ),
    "host-left": Words(
        "host left",
        lambda f: f"{_capital(_host(f))} left{_at(f)}. Its output says why.",
        _AGAIN,
    ),
    "host-lost": Words(
        "host lost",
        lambda f: (
            f"{_capital(_host(f))} sent no heartbeat for {f.get('seconds', 100)} s:"
            f" JAX counted it as lost{_at(f)}."
        ),
        _AGAIN,
    ),
    "collective-not-entered": Words(
        "stuck host",
        lambda f: (
            f"{_capital(_host(f))} has not entered a collective that the others entered"
            f" {f['seconds']:g} s ago."
        ),
        "See where it hangs, for example with py-spy. The results so far are kept.",
    ),
    "collective-broken": Words(
        "broken collective",
        lambda f: f"{_capital(_host(f))} failed: {f['error']}.",
        "The others would have waited forever, so jaxtui ended every process.",
    ),
    "of-processes": Words(
        "hosts",
        "Timed on process {process}. By their own clocks, the {processes} processes"
        " read medians of {low:s} to {high:s}, the slowest on {slowest}.",
    ),
    "works-differ": Words(
        "different work",
        lambda f: f"{_capital(_host(f))} was asked to measure something else.",
        "Start the same command, with the same options, on every host.",
    ),
    "file-differs": Words(
        "different file",
        lambda f: (
            f"{_capital(_host(f))} "
            + ("lacks" if f["missing"] else "has another version of")
            + f" {f['file']}."
        ),
        "Copy the file to every host.",
    ),
    "leader-lost": Words(
        "process 0 lost",
        lambda f: f"{_capital(_host(f))} has ended or is unreachable.",
        "Start the command again on every host.",
    ),
}
