"""The scripts of snippets: plain Python that runs without jaxtui."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxtui.model import SNIPPET_IMPORTS, Shown, Snippet, Timed
from jaxtui.scripts.snippets import snippet_script

SETUP = """\
x = jnp.ones((2000, 2000))


def bad(x):
    if x > 0:
        return x
"""


def snippet(*parts: Timed | Shown, setup: str = SETUP, **more: Any) -> Snippet:
    fields = {"title": "A title", "budget_seconds": 0.3, **more}
    return Snippet(setup=setup, parts=parts, **fields)


def script(*parts: Timed | Shown, **more: Any) -> str:
    return snippet_script(snippet(*parts, **more))


def printed(directory: Path, text: str, **environment: str) -> dict[str, str]:
    """What a script prints, by the name before the colon or the spaces."""
    file = directory / "snippet.py"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, file.name],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=180,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": "", **environment},
    )
    assert done.returncode == 0, done.stderr
    lines = (re.split(r": ?|  ", line, maxsplit=1) for line in done.stdout.splitlines())
    return {name: "".join(rest) for name, *rest in lines}


def seconds(text: str) -> float:
    assert text.endswith(" s")
    return float(text.removesuffix(" s"))


def test_a_script_prints_every_part_by_its_name(tmp_path):
    text = script(
        Timed(name="plain", code="x @ x"),
        Timed(name="blocked", code="(x @ x).block_until_ready()"),
        Timed(name="cold", code="jnp.sin(x)", once=True),
        Shown(name="pair", code="x.dtype, x.ndim"),
        Shown(name="lines", code="jnp.max(\n    x\n)  # of all"),
        Shown(name="statement", code="for i in range(2):\n    y = i\nprint('y', y)"),
        Shown(name="refused", code="jax.jit(bad)(1.0)", raises=True),
        Shown(name="last", code="print('the end:', y)"),
        budget_seconds=1.0,
    )
    assert "jaxtui" not in text
    assert "np\n" not in text.replace("jnp\n", "")
    found = printed(tmp_path, text)
    assert [*found] == [
        "cold",
        "pair",
        "lines",
        "statement",
        "y 1",
        "refused",
        *(name for name in found if name.startswith(("The error", "See"))),
        "last",
        "the end",
        "plain",
        "blocked",
    ]
    assert seconds(found["blocked"]) > 3 * seconds(found["plain"])
    assert seconds(found["cold"]) > 0
    assert found["pair"] == "(dtype('float32'), 2)"
    assert found["lines"] == "1.0"
    assert found["refused"].startswith("TracerBoolConversionError Attempted")


def test_work_that_was_dropped_is_waited_for_outside_the_clock(tmp_path):
    setup = """
x = jnp.ones((1000, 1000))
def dropped():
    for _ in range(20):
        x @ x
def waited():
    dropped()
    return (x @ x).block_until_ready()
"""
    codes = {
        "warm": "(x @ x).block_until_ready()",
        "dropped": "dropped()",
        "next": "(x @ x).block_until_ready()",
        "waited": "waited()",
    }
    parts = (Timed(name=name, code=code, once=True) for name, code in codes.items())
    found = printed(tmp_path, script(*parts, setup=setup))
    assert 3 * seconds(found["next"]) < seconds(found["waited"])


@pytest.mark.parametrize(("x64", "dtype"), [(True, "float64"), (False, "float32")])
def test_settings_are_those_of_the_snippet(tmp_path, x64, dtype):
    text = script(
        Shown(name="dtype", code="jnp.asarray(0.5).dtype"),
        Shown(name="device", code="jnp.ones(1).device"),
        Timed(name="timed", code="jnp.ones(1)"),
        x64=x64,
        device="cpu:1",
    )
    found = printed(tmp_path, text, JAX_NUM_CPU_DEVICES="2")
    assert found["dtype"] == dtype
    assert re.search(r"id=1|CPU_1|cpu:1", found["device"])
    assert seconds(found["timed"]) > 0


def test_a_script_makes_up_its_devices_itself(tmp_path):
    count = Shown(name="count", code="jax.device_count()")
    found = printed(tmp_path, script(count, cpu_devices=3), JAX_NUM_CPU_DEVICES="2")
    assert found["count"] == "3"


def test_nothing_is_in_it_that_is_not_needed():
    assert script(Shown(name="it", code="1"), setup="") == (
        '# A title\n\nimport jax\n\nprint("it:", 1)\n'
    )
    once = script(Timed(name="it", code="lax.add(1, 2)", once=True), setup="")
    assert "statistics" not in once
    assert "take_turns" not in once
    assert "from jax import lax" in once
    assert "numpy" not in once


def test_the_setup_stands_in_it_as_it_is():
    assert SETUP in script(Timed(name="it", code="x"))


def test_imports_are_those_of_every_snippet():
    text = script(Shown(name="it", code="jnp, np, lax"), setup="")
    assert SNIPPET_IMPORTS in text


NAMES = [
    'with "quotes"',
    "with 'both' \"kinds\"",
    "100 % {of} it\\n",
    "two\nlines",
    "µs · ×2 — 🙂",
    '"""',
    "",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_may_be_anything(name, tmp_path):
    text = script(
        Shown(name=name, code="1"),
        Shown(name=name, code="1 / 0", raises=True),
        Shown(name=name, code="y = 2"),
        Timed(name=name, code="y", once=True),
        Timed(name=name, code="y"),
        title=name,
        setup="",
        budget_seconds=0.01,
    )
    file = tmp_path / "snippet.py"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
        encoding="utf-8",
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONIOENCODING": "utf-8"},
    )
    assert done.stdout.count(name) >= 5


CODES = [
    "'''a\n  b'''",
    "f'''{1}\n  b'''",
    "1, 2",
    "1,",
    "(1, 2)",
    "(1), (2)",
    "[\n    1,\n]",
    "1  # one",
    "'#'",
    "lambda: (yield)",
    "1 if True else 2",
    "[i for i in range(3)]",
    "1 + \\\n    2",
]


@pytest.mark.parametrize("code", CODES)
def test_expressions_keep_their_value_wherever_they_stand(code):
    text = script(
        Shown(name="shown", code=code),
        Shown(name="caught", code=code, raises=True),
        Timed(name="once", code=code, once=True),
        Timed(name="often", code=code),
        setup="",
    )
    seen: list[object] = []
    space = {"time_call": None}
    text = text.replace("take_turns(\n    {", "keep(\n    {")
    text = re.sub(r"def timed\(call\):", "def unused(call):", text)
    space |= {
        "keep": lambda calls: seen.extend(call() for call in calls.values()),
        "timed": lambda call: seen.append(call()) or 0.0,
        "print": lambda name, value, *unit: unit or seen.append(value),
    }
    exec(compile(text, "script", "exec"), space)
    right = eval(code.strip())
    if callable(right):
        assert all(map(callable, seen))
    else:
        assert seen == [right] * 4


STATEMENTS = [
    "y = '''a\n  b'''",
    "def f():\n    '''Doc\n    more.'''\n    return 1\nf()",
    "for i in range(2):\n    print(i)\n\n    print(i)",
    "with open('x') as file: pass",
    "y = (1,\n2)",
    "raise ValueError(f'''a {1}\nb''')",
]


@pytest.mark.parametrize("code", STATEMENTS)
@pytest.mark.parametrize("raises", [True, False])
def test_statements_do_what_they_did(code, raises):
    text = script(Shown(name="it", code=code, raises=raises), setup="")
    ours: list[tuple[object, ...]] = []
    theirs: list[tuple[object, ...]] = []
    error = end = None
    try:
        exec(code, {"print": lambda *said: ours.append(said)})
    except (ValueError, OSError) as raised:
        error = raised
    space = {"print": lambda *said: theirs.append(said)}
    try:
        exec(compile(text, "script", "exec"), space)
    except (ValueError, OSError) as raised:
        end = raised
    assert theirs.pop(0) == ("it:",)
    if raises and error is not None:
        _, kind, caught = theirs.pop()
        assert (kind, str(caught)) == (type(error).__name__, str(error))
    else:
        assert str(end) == str(error)
    assert theirs == ours


def test_its_own_names_give_way_to_those_of_the_snippet(tmp_path):
    text = script(
        Shown(name="sum", code="timed + fences + take_turns + error"),
        Shown(name="bad", code="1 / 0", raises=True),
        Timed(name="once", code="error", once=True),
        Timed(name="often", code="take_turns"),
        Shown(name="still", code="timed + fences + take_turns + error"),
        setup="timed = fences = take_turns = error = 1",
    )
    found = printed(tmp_path, text)
    assert (found["sum"], found["still"]) == ("4", "4")
    assert seconds(found["often"]) > 0


def test_what_is_no_expression_cannot_be_timed():
    with pytest.raises(SyntaxError):
        script(Timed(name="it", code="y = 1"))


def test_devices_that_are_waited_for_are_waited_for_once(tmp_path):
    text = script(Timed(name="it", code="x + 1"), device="cpu:0")
    found = printed(tmp_path, text + 'print("fences:", len(fences))\n')
    assert found["fences"] == found_count(tmp_path)


def found_count(tmp_path: Path) -> str:
    count = Shown(name="count", code="jax.local_device_count()")
    return printed(tmp_path, script(count))["count"]
