"""Recorded messages of a JAX that does not start and of cases that fail."""

from __future__ import annotations

import builtins
import contextlib
import signal
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtui.core.model import Remark
from jaxtui.machine import packages
from jaxtui.machine.messages import kind_of
from jaxtui.tasks.errors import (
    check_fault,
    full_text,
    headline,
    translate_backend,
    translate_import,
)
from jaxtui.tasks.failures import translate
from jaxtui.ui import words
from tests.machine.record import Recorded, messages, plain
from tests.tasks.running import case

JAX = packages.installed().jax
CASE = case("matmul", 64, device="tpu:0")


def raised(text: str) -> Exception:
    """What prints so at the end of a traceback; of no type it is a RuntimeError."""
    name, _, rest = text.partition(": ")
    kind = getattr(builtins, name, None)
    return kind(*[rest] * bool(rest)) if kind else RuntimeError(text)


def check(remark: Remark, recorded: Recorded) -> None:
    assert remark.code == recorded.code
    assert recorded.facts.items() <= plain(remark.facts).items()
    assert remark.facts.get("jax", JAX) == JAX
    assert recorded.text in remark.detail
    assert words.text(remark)


@pytest.mark.parametrize("recorded", messages("case"), ids=lambda one: one.text[:40])
def test_known_failures(recorded: Recorded) -> None:
    error = raised(recorded.text)
    failure = translate(error, CASE, "compile")
    assert failure.case == CASE
    assert failure.remark.facts["phase"] == "compile"
    assert kind_of(full_text(error)) == recorded.code
    check(failure.remark, recorded)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: jax.lax.logistic(np.ones(4, np.int8)), "dtype-unsupported"),
        (lambda: jax.jit(lambda: jnp.zeros(10**12))(), "out-of-memory"),
        (lambda: np.empty(10**15), "out-of-memory"),
    ],
)
def test_real_failures_of_this_jax(call: Callable[[], Any], code: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        jax.block_until_ready(call())
    assert translate(caught.value, CASE, "block").remark.code == code


def test_unknown_failures_say_where_they_surfaced() -> None:
    remark = translate(KeyError("odd\nmore"), CASE, "trace").remark
    assert (remark.code, remark.facts["phase"]) == ("raised", "trace")
    assert "odd" in str(remark.facts["error"])
    assert "more" in remark.detail
    nothing = translate(RuntimeError(), CASE, "a new phase").remark
    assert nothing.facts["error"] == "RuntimeError"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("It broke.\nLine 2", "ValueError: It broke."),
        ("It was:\nTypeError: x\nmore", "ValueError: It was: TypeError: x"),
        ("It was:", "ValueError: It was"),
    ],
)
def test_a_headline_is_the_first_line_and_what_it_announces(
    text: str, line: str
) -> None:
    assert headline(ValueError(text)) == line


def test_what_is_no_fault_of_a_case_is_raised_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(GeneratorExit):
        check_fault(GeneratorExit())
    # In an engine Ctrl-C ends the process: only a user's code raises this there.
    for handler, raises in (
        (signal.default_int_handler, pytest.raises(KeyboardInterrupt)),
        (signal.SIG_DFL, contextlib.nullcontext()),
    ):
        monkeypatch.setattr(signal, "getsignal", lambda _, handler=handler: handler)
        with raises:
            check_fault(KeyboardInterrupt())


@pytest.mark.parametrize(
    "recorded", messages("start", "import"), ids=lambda one: one.text[-40:]
)
def test_starts_and_imports_that_fail(
    monkeypatch: pytest.MonkeyPatch, recorded: Recorded
) -> None:
    for name, value in {"JAX_PLATFORMS": "", **recorded.environment}.items():
        monkeypatch.setenv(name, value)
    starts = recorded.source == "start"
    failed = (translate_backend if starts else translate_import)(raised(recorded.text))
    check(failed.remark, recorded)
    pid = recorded.facts.get("pid")
    assert [holder.pid for holder in failed.holders] == [pid] * bool(pid)
