from __future__ import annotations

import re

import pytest

from jaxtui.machine.messages import MESSAGES, find, kind_of, last_words, lost_processes
from tests.machine.record import Recorded, messages, plain


@pytest.mark.parametrize("line", messages("log"), ids=lambda line: line.code)
def test_recorded_lines_are_understood_and_kept(line: Recorded) -> None:
    remark = find(f"{line.text}\n", "log")
    assert remark
    assert (remark.code, plain(remark.facts)) == (line.code, line.facts)
    assert remark.detail == line.text


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Traceback (most recent call last):",
        "x" * 70_000,
        # Like known ones, but not they.
        "W0810 [Compiling module jit_f] Very slow compile? It is taking more than 60 s",
        "E0810 alarm.cc:73] Constant folding is taking more than 1.5 seconds",
        "I0810 CUDA runtime: 12.4, cuDNN 9.1",
        "RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes",
        "A Google TPU may be present\nFalling back to cpu",
    ],
)
def test_other_lines_mean_nothing(line: str) -> None:
    assert find(line, "log") is None


def test_only_the_text_of_a_case_has_several_lines() -> None:
    text = "Attempting to allocate 16.0G. That was not possible.\nThere are 7.2G free."
    remark = find(text, "case")
    assert remark
    assert (remark.facts["asked"], remark.facts["free"]) == ("16.0G", "7.2G")
    assert kind_of(text) == "out-of-memory"


@pytest.mark.parametrize("source", ["log", "start", "case", "flag"])
def test_every_known_message_was_recorded(source: str) -> None:
    patterns = [one.pattern for one in MESSAGES if source in one.sources]
    used = {
        next((one for one in patterns if re.search(one, f"{recorded.text}:")), "")
        for recorded in messages(source)
    }
    assert used >= {*patterns}


RPC = "UNAVAILABLE: Failed to send RPC to coordination service. Either the leader task"
DEADLINE = (
    "absl::Status: DEADLINE_EXCEEDED: Deadline Exceeded\n\nRPC:"
    " /xla.coordination.CoordinationService/Heartbeat"
)
UNHEALTHY = "The following tasks are unhealthy (stopped sending heartbeats):\n"


@pytest.mark.parametrize(
    ("log", "code", "process"),
    [
        (f"UNAVAILABLE: {UNHEALTHY}1\nThe tasks have crashed.", "host-lost", 1),
        (f"{UNHEALTHY}/job:jax_worker/replica:0/task:3\nThe", "host-lost", 3),
        (f"{RPC} was preempted/died/restarted unexpectedly", "leader-lost", 0),
        (DEADLINE, "leader-lost", 0),
    ],
)
def test_processes_that_are_gone(log: str, code: str, process: int) -> None:
    remark = lost_processes(log)
    assert remark
    assert (remark.code, remark.facts["process"]) == (code, process)
    assert lost_processes("Check failed: buffer != nullptr") is None


FLAG = "parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_nonsense=1"
FAULT = (
    "Fatal Python error: Aborted",
    "",
    "Current thread 0x00007f1426215b80 (most recent call first):",
    *(f'  File "jax/_src/xla_bridge.py", line {line} in backends' for line in range(9)),
    "",
    "Extension modules: jaxlib.cpu_feature_guard, numpy.random.mtrand (total: 2)",
)
OLD = f"2026-11-26 23:59:15.621833: F external/xla/{FLAG}"  # jaxlib 0.6.2
BAD = "  what():  bad_alloc"


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ((f"F1126 23:59:36.600533    2408 {FLAG}", *FAULT), FLAG),
        ((OLD, *FAULT), f"external/xla/{FLAG}"),
        (("a", "b", BAD, *FAULT), f"b what():  bad_alloc {FAULT[0]}"),
        (("a", "b", "c", "d"), "b c d"),
    ],
)
def test_the_last_words_are_the_reason_and_not_where_python_was(
    log: tuple[str, ...], words: str
) -> None:
    assert last_words(log) == words
