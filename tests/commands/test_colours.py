"""Commands on a terminal: colours of jaxtui's own are codes, and none is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jaxtui import commands

UNAWAITED = """
import time
import jax, jax.numpy as jnp
x = jnp.ones((300, 300))
f = jax.jit(lambda x: x @ x @ x)
f(x).block_until_ready()
for _ in range(3):
    start = time.perf_counter()
    y = f(x)
    print(time.perf_counter() - start)
    y.block_until_ready()
"""


@pytest.mark.parametrize(
    "typed",
    [
        "audit program.py",
        "bench selu:100 --mode jit,numpy --budget 0.5",
        "hlo selu:100",
        "learn",
        "ops",
        "profile selu:100 --steps 2",
    ],
)
def test_colours_are_codes_and_not_shown(
    typed: str,
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(UNAWAITED, "utf-8")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("jaxtui.commands.terminal.takes_codes", lambda stream: True)
    code, out, _ = run(*typed.split())
    assert code in (commands.FINE, commands.CASE_FAILED)
    assert "\x1b[" in out
    assert r"\x1b" not in out
