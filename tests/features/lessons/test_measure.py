"""Snippets on real JAX on CPU: what is timed, what is shown, and what goes wrong."""

from __future__ import annotations

import itertools
import os
import select
import signal
import subprocess
import sys
import threading
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.core import child
from jaxtui.core.engine.protocol import encode
from jaxtui.core.model import (
    Progress,
    RunEvent,
    RunFinished,
    RunStarted,
    Shown,
    Snippet,
    SnippetShown,
    SnippetTimed,
    Timed,
    Value,
    WorkFailed,
)
from jaxtui.features.lessons import measure as snippets
from jaxtui.features.lessons.figures import Outcome
from jaxtui.features.lessons.measure import (
    Namespace,
    numbers,
    run_snippet,
    show,
)
from jaxtui.timing import runner
from jaxtui.timing.contention import Meter, Usage
from tests.apart import in_a_thread
from tests.features.lessons.figures import after
from tests.tasks.running import stop_after


def snippet(*parts: Timed | Shown, setup: str = "x = 2.0", **more: Any) -> Snippet:
    fields = {"title": "A title", "budget_seconds": 0.05, **more}
    return Snippet(setup=setup, parts=parts, **fields)


def run(*parts: Timed | Shown, **more: Any) -> list[RunEvent]:
    return list(run_snippet(snippet(*parts, **more)))


def outcome(*parts: Timed | Shown, **more: Any) -> Outcome:
    return after(*run(*parts, **more))


def shown(code: str, **more: Any) -> Value:
    found = outcome(Shown(name="it", code=code), **more)
    assert found.problem is None
    return found.values["it"]


# What is timed.


def test_a_plain_call_is_timed_until_it_returns_not_until_it_is_ready() -> None:
    plain = Timed(name="plain", code="x @ x")
    blocked = Timed(name="blocked", code="(x @ x).block_until_ready()")
    setup = "x = jnp.ones((2000, 2000))"
    found = outcome(plain, blocked, setup=setup, budget_seconds=1.0)
    assert (
        found.timings["blocked"].seconds.median
        > 3 * found.timings["plain"].seconds.median
    )
    assert not found.timings["plain"].once


def test_work_that_was_dropped_does_not_weigh_on_the_next_part() -> None:
    blocked = "(x @ x).block_until_ready()"
    setup = f"""
x = jnp.ones((1000, 1000))
def dropped():
    for _ in range(20):
        x @ x
def waited():
    dropped()
    return {blocked}
"""
    codes = {"warm": blocked, "dropped": "dropped()", "next": blocked}
    codes["waited"] = "waited()"
    parts = (Timed(name=name, code=code, once=True) for name, code in codes.items())
    found = outcome(*parts, setup=setup)
    assert (
        3 * found.timings["next"].seconds.median
        < found.timings["waited"].seconds.median
    )


def test_parts_come_in_their_order_and_turns_come_last() -> None:
    events = run(
        Timed(name="often", code="x + 1"),
        Shown(name="before", code="seen.append('b') or len(seen)"),
        Timed(name="cold", code="seen.append('c')", once=True),
        Shown(name="after", code="len(seen)"),
        setup="x, seen = 1, []",
    )
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    names = [
        event.value.name if isinstance(event, SnippetShown) else event.timing.name
        for event in events
        if isinstance(event, (SnippetShown, SnippetTimed))
    ]
    assert names[:3] == ["before", "cold", "after"]
    assert set(names[3:]) == {"often"}
    # What is timed once is called once.
    found = after(*events)
    cold = found.timings["cold"]
    assert (cold.once, cold.seconds.n, cold.seconds.rounds) == (True, 1, 1)
    assert found.values["after"].numbers[0] == 2


def test_everything_that_is_timed_often_takes_turns_and_is_told_after_each() -> None:
    events = run(*(Timed(name=name, code="x + 1") for name in "abc"))
    told = [event.timing for event in events if isinstance(event, SnippetTimed)]
    rounds = {
        name: [one.seconds.rounds for one in told if one.name == name] for name in "abc"
    }
    assert all(counts == sorted(counts) for counts in rounds.values())
    assert len({counts[-1] for counts in rounds.values()}) == 1
    assert {e.about for e in events if isinstance(e, Progress)} >= set("abc")


def test_what_is_timed_has_the_whole_budget_however_long_the_setup_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds: list[float] = []
    moments = itertools.count(step=100.0)
    monkeypatch.setattr(runner, "perf_counter", lambda: next(moments))

    def turns(_: object, spent: float, **__: object) -> tuple[()]:
        seconds.append(spent)
        return ()

    monkeypatch.setattr(snippets, "take_turns", turns)
    run(Timed(name="a", code="x + 1"), budget_seconds=4.0)
    assert seconds == [4.0]


def test_a_call_that_takes_longer_than_the_budget_still_has_its_turn() -> None:
    found = outcome(
        Timed(name="slow", code="[i for i in range(500_000)] and None"),
        Timed(name="fast", code="x + 1"),
        budget_seconds=0.001,
    )
    assert found.timings.keys() == {"slow", "fast"}
    assert found.timings["slow"].seconds.rounds == 1


@pytest.mark.parametrize(("others", "busy"), [(0.9, True), (0.1, False)])
def test_others_who_used_the_cores_are_named(
    monkeypatch: pytest.MonkeyPatch, others: float, busy: bool
) -> None:
    usage = Usage(seconds=1.0, others=others, steal=0.0, cores=2)
    monkeypatch.setattr(Meter, "usage", usage)
    found = outcome(Timed(name="a", code="x + 1"))
    disturbed = found.timings["a"].disturbed
    assert (disturbed and disturbed.facts["used_cores"]) == (0.9 if busy else None)


@pytest.mark.parametrize(("once", "uncounted"), [(True, 0), (False, 2)])
def test_warm_up_does_not_count(
    monkeypatch: pytest.MonkeyPatch, once: bool, uncounted: int
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(sys, "calls", calls, raising=False)
    part = Timed(name="f", code="sys.calls.append(1)", once=once)
    timing = outcome(part, setup="import sys").timings["f"]
    assert len(calls) >= timing.seconds.n + uncounted
    assert (len(calls) == 1) == once


# What is shown.


@pytest.mark.parametrize(
    ("code", "text", "found"),
    [
        ("True", "True", (1.0,)),
        ("2.5", "2.5", (2.5,)),
        ("2 + 0j", "(2+0j)", (2.0,)),
        ("2 + 1j", "(2+1j)", ()),
        ("np.float32(0.5)", "0.5", (0.5,)),
        ("jnp.arange(3)", "[0 1 2]", (0.0, 1.0, 2.0)),
        ("jnp.ones((2, 1), jnp.bfloat16)", "[[1]\n [1]]", (1.0, 1.0)),
        ("[1, (2.5, True)]", "[1, (2.5, True)]", (1.0, 2.5, 1.0)),
        ("[1, 'a']", "[1, 'a']", ()),
        ("'text'", "text", ()),
        ("None", "None", ()),
        ("float('nan')", "nan", ()),
        ("jnp.array([1.0, jnp.inf])", "[ 1. inf]", ()),
        ("10**400 % 7", "4", (4.0,)),
        ("jnp.sum(\n    x  # all of it\n)  # a number", "2.0", (2.0,)),
        # Of a statement what it printed is shown.
        ("y = 3\nprint(y, x)", "3 2.0", ()),
        ("for i in range(2):\n    print(i)", "0\n1", ()),
        ("print('printed')", "printed", ()),
        ("y = 3", "", ()),
        ("jax.debug.print('y {}', x)", "y 2.0", ()),
        # Every run has names of its own, and nothing of the runner's.
        ("'y' in globals()", "False", (0.0,)),
    ],
)
def test_values_have_their_text_and_their_numbers(
    code: str, text: str, found: tuple[float, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    value = shown(code)
    assert (value.text, value.numbers, value.error) == (text, found, None)
    assert capfd.readouterr().out == ""


def test_numbers_are_few_or_none() -> None:
    assert len(numbers(np.zeros(1000))) == 1000
    for value in (
        np.zeros(1001),
        [np.zeros(600), np.zeros(600)],
        [0] * 1001,
        10**400,
        np.array(["1"]),
        np.array([1 + 1j]),
        np.array([object()]),
        jax.random.key(0),
        b"1",
    ):
        assert numbers(value) == ()
    assert numbers(np.array([1 + 0j])) == (1.0,)


def test_long_texts_are_cut() -> None:
    assert len(shown("'a' * 5000").text) == 2000
    assert len(shown("int('1' * 5000 + 'x')").error or "") <= 300


def test_nothing_is_printed_to_the_output_of_the_engine(
    capfd: pytest.CaptureFixture[str],
) -> None:
    timed = Timed(name="timed", code="print('timed')")
    once = Timed(name="once", code="print('once')", once=True)
    run(timed, once, Shown(name="x", code="print(1)"), setup="print('in setup')")
    said = capfd.readouterr()
    assert said.out == ""
    assert "in setup" in said.err
    assert "timed" not in said.err


def test_an_error_of_a_shown_expression_is_a_value() -> None:
    code = "jax.jit(bad)(1.0)"
    parts = (
        Shown(name=str(raises), code=code, raises=bool(raises)) for raises in (0, 1)
    )
    setup = "def bad(x):\n    if x > 0:\n        return x"
    values = outcome(*parts, Shown(name="next", code="1"), setup=setup).values
    for value in (values["0"], values["1"]):
        assert value.text == ""
        assert value.error == (
            "TracerBoolConversionError: Attempted boolean conversion of traced array"
            " with shape bool[]."
        )
        assert value.detail.startswith(value.error)
        # The line is named, as it is for a file.
        assert "<A title: setup>:1" in value.detail
    assert values["next"].text == "1"
    assert (shown("x +").error or "").startswith("SyntaxError: ")


@in_a_thread
def test_an_error_that_waits_in_the_result_is_found() -> None:
    setup = """
def fail(_):
    raise ValueError("late")
def late(x):
    return jax.pure_callback(fail, jax.ShapeDtypeStruct((), jnp.float32), x)
"""
    value = shown("jax.jit(late)(1.0)", setup=setup)
    assert value.error is not None
    assert "late" in value.detail


def test_warnings_stand_beside_the_value_or_the_error() -> None:
    def warn_and_fail() -> None:
        warnings.warn("beware", stacklevel=1)
        raise TypeError

    code = "[np.asarray(jnp.zeros(2, 'float64'))[0] for _ in range(3)]"
    (warning,) = shown(code).warnings
    assert "Explicitly requested dtype" in warning
    assert shown("x + 1").warnings == ()
    value = show("it", warn_and_fail)
    assert (value.error, value.warnings) == ("TypeError", ("beware",))


# Where it runs.


@pytest.mark.parametrize(("x64", "dtype"), [(True, "float64"), (False, "float32")])
def test_64_bit_types_are_the_choice_of_the_snippet(x64: bool, dtype: str) -> None:
    parts = (
        Shown(name="expression", code="jnp.asarray(x).dtype"),
        Timed(name="once", code="seen.append(jnp.asarray(x).dtype)", once=True),
        Timed(name="often", code="seen.append(jnp.asarray(x).dtype)"),
        Shown(name="setup", code="made.dtype"),
    )
    setup = "x = 0.5\nmade = jnp.asarray(x)\nseen = []"
    texts = []
    for event in run_snippet(snippet(*parts, setup=setup, x64=x64)):
        # Whoever reads the events is not in the snippet's scope.
        assert jnp.asarray(0.5).dtype == jnp.float32
        if isinstance(event, SnippetShown):
            texts.append(event.value.text)
    assert texts == [dtype, dtype]


def test_the_default_device_is_the_choice_of_the_snippet() -> None:
    part = Shown(name="it", code="(x.device.id, jnp.ones(1).device.id)")
    for event in run_snippet(snippet(part, setup="x = jnp.zeros(3)", device="cpu:2")):
        assert jnp.ones(1).devices() == {jax.devices()[0]}
        if isinstance(event, SnippetShown):
            assert event.value.numbers == (2.0, 2.0)


def test_code_is_what_it_would_be_in_a_file() -> None:
    setup = "import inspect\ndef f(x: int):\n    return x + 1"
    assert shown("inspect.getsource(f)", setup=setup).text.endswith("return x + 1")
    # Futures of the runner are not inherited.
    assert shown("f.__annotations__['x'] is int", setup=setup).text == "True"
    names = Namespace("A title")
    names.set_up("x = 1")
    assert names.function("(\n    x\n)", "it")() == 1
    with pytest.raises(ZeroDivisionError) as raised:
        names.function("(\n    x / 0\n)", "it")()
    entry = raised.traceback[-1]
    assert (str(entry.path), entry.lineno + 1) == ("<A title: it>", 2)


# What goes wrong.

EXIT = "__import__('sys').exit(3)"


@pytest.mark.parametrize(
    ("part", "more", "code", "failed_part"),
    [
        (None, {"device": "cpu:9"}, None, None),
        (None, {"setup": "x = 1\nx / 0"}, "program-failed", "setup"),
        (None, {"setup": "raise MemoryError('no')"}, "out-of-memory", None),
        (Shown(name="it", code=EXIT), {}, "program-failed", ""),
        (Timed(name="it", code=EXIT), {}, "program-failed", ""),
        (Timed(name="bad", code="x / 0"), {}, "program-failed", "bad"),
        (Timed(name="b", code="x / 0", once=True), {}, "program-failed", "b"),
        (Timed(name="bad", code="y = 1"), {}, "program-failed", "bad"),
    ],
)
def test_a_failure_ends_it_and_says_what_failed(
    part: Any, more: dict[str, str], code: str | None, failed_part: str | None
) -> None:
    parts = [] if part is None else [part]
    events = run(Shown(name="before", code="1"), *parts, **more)
    failed, last = after(*events).problem, events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome == "complete"
    assert failed
    assert code in (None, failed.remark.code)
    assert failed.remark.facts.get("part") == failed_part
    # What had come before stays.
    assert ("before" in after(*events).values) == (part is not None)


@pytest.mark.parametrize("count", [0, 3, 9])
def test_a_stop_ends_it_as_cancelled(count: int) -> None:
    timed = (Timed(name=n, code="x + 1") for n in "ab")
    one = snippet(Shown(name="s", code="1"), *timed, budget_seconds=600.0)
    events = list(run_snippet(one, stop=stop_after(count)))
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "cancelled"
    assert not any(isinstance(event, WorkFailed) for event in events)


# In a process of its own.


def test_a_process_of_its_own_has_its_own_devices(
    capfd: pytest.CaptureFixture[str],
) -> None:
    events = run(
        Shown(name="devices", code="jax.device_count()"),
        Shown(name="second", code="jax.device_put(x, jax.devices()[1]).device.id"),
        Shown(name="process", code="__import__('os').getpid()"),
        Timed(name="bad", code="x / 0", once=True),
        setup="x = 1.0\nprint('in setup')\n__import__('os').write(1, b'to fd 1')",
        cpu_devices=2,
    )
    assert jax.device_count() == 4
    found = after(*events)
    assert (found.values["devices"].numbers[0], found.values["second"].numbers[0]) == (
        2,
        1,
    )
    assert found.values["process"].numbers[0] != os.getpid()
    assert found.problem is not None
    assert found.problem.remark.facts["part"] == "bad"
    first, *_, last = events
    assert isinstance(first, RunStarted)
    assert isinstance(last, RunFinished)
    ends = [one for one in events if isinstance(one, (RunStarted, RunFinished))]
    assert ends == [first, last]
    said = capfd.readouterr()
    assert said.out == ""
    assert "in setup" in said.err
    assert "to fd 1" in said.err


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        (("/bin/sh", "-c", "kill -ABRT $$"), {"devices": 2, "status": -signal.SIGABRT}),
        (("/bin/sh", "-c", "exit 0"), {"devices": 2, "status": 0}),
        (("/nonexistent/python",), None),
    ],
)
def test_a_child_that_ends_early_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], facts: Any
) -> None:
    monkeypatch.setattr(child, "command", lambda module: command)
    failed = outcome(cpu_devices=2).problem
    assert failed
    remark = failed.remark
    assert remark.code == ("process-ended" if facts else "program-failed")
    assert not facts or remark.facts == facts


@pytest.mark.parametrize("closes", [True, False])
def test_a_stop_and_a_close_end_the_child_whatever_it_does(
    monkeypatch: pytest.MonkeyPatch, closes: bool
) -> None:
    told = encode(SnippetShown(value=Value(name="pid", text="PID"))).decode().strip()
    told = told.replace("PID", "'$$'")
    script = f"echo '{told}'; exec sleep 1000"
    monkeypatch.setattr(child, "command", lambda module: ("/bin/sh", "-c", script))
    stop, pid = threading.Event(), 0
    last: Any = None
    events: Any = run_snippet(snippet(cpu_devices=2), stop=stop.is_set)
    for event in events:
        last = event
        if isinstance(event, SnippetShown):
            pid = int(event.value.text)
            if closes:
                events.close()
            stop.set()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert closes or last.outcome == "cancelled"


PARENT = """
from jaxtui.features.lessons.measure import run_snippet
from jaxtui.core.model import (Shown, Snippet, Timed)
one = Snippet(
    title="A title",
    setup="import os, time",
    parts=(
        Shown(name="pid", code="os.getpid()"),
        Timed(name="endless", code="time.sleep(1000)", once=True),
    ),
    cpu_devices=2,
)
for event in run_snippet(one):
    if value := getattr(event, "value", None):
        print(value.text, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd")
def test_the_child_does_not_outlive_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    with parent:
        assert parent.stdout is not None
        watch = os.pidfd_open(int(parent.stdout.readline()))
        try:
            parent.kill()
            assert select.select((watch,), (), (), 30.0)[0]
        finally:
            os.close(watch)
