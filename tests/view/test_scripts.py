"""What the scripts say, how long they are, and that they run without jaxtui."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from jaxtui import lessons
from jaxtui.measure import clocks, ops, planning
from jaxtui.measure.recipes import recipe
from jaxtui.model import (
    LOOP_STYLES,
    Case,
    Experiment,
    Loop,
    LoopStyle,
    Plan,
    PlannedCase,
    Shown,
    Snippet,
    Timed,
)
from jaxtui.view import scripts
from tests.lessons.figures import on
from tests.measure import running
from tests.processes import python
from tests.records import planned

LINES = 30
LONGER = {
    ("attention", "numpy"): 34,
    ("conv2d", "numpy"): 36,
    ("selu", "pallas"): 42,
}
"""Of a single case in float32; the kernel is one of Pallas."""

NAMES = "time_calls|take_turns|wait_for|cases|perf_counter_ns"
"""What the script of a snippet calls its own."""


def case(**changes: Any) -> Case:
    return running.case(**({"op": "matmul", "size": 32} | changes))


def numpy(**changes: Any) -> Case:
    return case(mode="numpy", **changes)


def plan(*cases: Case) -> tuple[PlannedCase, ...]:
    return planning.plan(Experiment(cases=cases), recipes=True).cases


async def asked(experiment: Experiment) -> Plan:
    """As an engine answers; whatever the device is, it is made up to be there."""
    cases = tuple(planned(one, recipe=recipe(one)) for one in experiment.cases)
    return Plan(cases=cases, budget_seconds=1.0)


def run(text: str, folder: Path, **environment: str) -> str:
    """What a script prints where jaxtui is not, in a hundredth of its time."""
    for seconds in ("wait, 2)", "take_turns(cases, "):
        text = text.replace(seconds, seconds.replace("2)", "0.01)"))
    text = re.sub(r"(take_turns\(cases, )[\d.]+\)", r"\1 0.01)", text)
    text = re.sub(r"(time_calls\(\*case, )[\d.]+\)", r"\1 0.001)", text)
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    done = python(path, cwd=folder, PYTHONPATH="", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


# Cases.


def test_the_loop_of_every_script_is_the_one_that_ran() -> None:
    assert inspect.getsource(clocks.time_calls) in scripts.of_cases(plan(case()))


@pytest.mark.parametrize("op", ops.OPS.values(), ids=list(ops.OPS))
def test_one_case_fits_on_a_slide(op: ops.Op) -> None:
    for mode in op.forms:
        one = case(op=op.name, size=op.default, mode=mode)
        text = scripts.of_cases([planned(one, recipe=recipe(one))])
        compile(text, f"{op.name} {mode}", "exec")
        imported = set(re.findall(r"^(?:import|from) (\w+)", text, re.M))
        assert imported <= {"jax", "numpy", "time", "tensorflow"}
        assert len(text.splitlines()) <= LONGER.get((op.name, mode), LINES), text
        assert text.startswith(f"# {one.label}\n")


def test_scripts_run_by_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = r"dispatch (\S+) s, ready (\S+) s\n"
    for one in (case(), numpy()):
        exec(scripts.of_cases(plan(one)).replace("wait, 2)", "wait, 0.01)"), {})
    out = capsys.readouterr().out
    found = re.fullmatch(both + r"ready \S+ s\n", out)
    assert found is not None, out
    assert 0 < float(found[1]) <= float(found[2])
    cases = (
        *(case(), case(mode="eager", inputs="host"), case(device="cpu:1")),
        *(case(size=16, dtype="int8"), numpy()),
    )
    text = scripts.of_cases(plan(*cases))
    lines = run(text + LOOKS, tmp_path).splitlines()
    assert len(lines) == 2 * len(cases)
    for one, line, dtype in zip(cases, lines, lines[len(cases) :], strict=False):
        assert re.fullmatch(re.escape(one.label) + ": " + both, line + "\n"), line
        right = {"int8": "int32"}.get(one.dtype, one.dtype)
        assert dtype == f"{right} {one.device.removeprefix('host')}".strip()


LOOKS = """
for f, args, wait in cases.values():
    result = f(*args)
    where = [f"cpu:{d.id}" for d in result.devices()] if f is not numpy_matmul else []
    print(result.dtype, *where)
"""


def test_wide_arguments_are_wide_wherever_they_stand(tmp_path: Path) -> None:
    """The dtype of a case is that of its first argument."""
    path = tmp_path / "wide.py"
    path.write_text("def f(x, y):\n    return y\n\n\ndef g(x, y):\n    return y\n")
    typed = {"size": 0, "params": {"args": "f32[3] f64[3]"}}
    own = [case(op=f"{path}:{name}", **typed) for name in "fg"]
    setting = '\njax.config.update("jax_enable_x64", True)\n'
    for cases in (own[:1], own):
        text = scripts.of_cases(plan(*cases))
        assert text.count(setting) == 1
    looks = "\nprint(*{f(*args).dtype for f, args, _ in cases.values()})\n"
    assert run(text + looks, tmp_path).splitlines()[-1] == "float64"
    # Those with other settings have turns of their own, and JAX's defaults again.
    mixed = scripts.of_cases(plan(*own, case(), case(mode="eager"), numpy()))
    assert mixed.count("\ntake_turns(cases, ") == 2
    assert mixed.count(setting) == 1
    assert mixed.count('jax.config.update("jax_enable_x64", False)') == 1


def test_what_cases_share_stands_there_once() -> None:
    cases = [of(size=n) for n in (8, 16) for of in (numpy, case)]
    text = scripts.of_cases(plan(*cases, case(size=16, mode="eager"), case(size=8)))
    for once in ("def matmul(", "def numpy_matmul(", "def time_calls(", "import jax\n"):
        assert text.count(once) == 1, once
    # The same case twice has one turn; jit and eager share their arguments.
    assert text.count("cases[") == 5
    assert text.count("jax.device_put") == 2
    assert len(text.splitlines()) < 70


def test_what_cannot_run_is_left_out_and_said() -> None:
    able, missing = plan(case(), case(op="selu", dtype="int8"))
    assert missing.recipe is None
    assert scripts.of_cases([missing, able]) == scripts.of_cases([able])
    with pytest.raises(scripts.ExportError) as refused:
        scripts.of_cases([missing])
    assert refused.value.remark.code == "no-script"
    assert "int8" in refused.value.remark.facts["why"]
    assert "int8" in scripts.missing(missing).text


def test_recipes_are_made_for_those_who_ask() -> None:
    (one,) = planning.plan(Experiment(cases=(case(),))).cases
    assert one.recipe is None
    (one,) = planning.plan(Experiment(cases=(case(),), seed=5), recipes=True).cases
    assert "default_rng(5)" in str(one.recipe)


# Functions of files.

OWN = """\
import dataclasses

import jax.numpy as jnp

from beside import ONE


@dataclasses.dataclass
class Unused:
    x: "int"


def step(state):
    return {"x": state["x"] * 2 + ONE, "n": state["n"]}


def step_numpy(state):
    return state["x"] * 2 + ONE


def step_args(size=4, seed=0):
    return ({"x": jnp.full((size,), float(seed)), "n": 1},)
"""


def test_files_may_be_called_anything(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "beside.py").write_text("ONE = 1\n")
    cases: list[Case] = []
    names = ("it's", 'a "b"""\\', "two\nlines", "numpy", "a.b c")
    for factor, name in enumerate(names):
        path = tmp_path / "own" / f"{name}.py"
        path.write_text(OWN.replace("* 2", f"* {factor}"))
        of = {"op": f"{path}:step", "dtype": ""}
        cases += [case(**of), case(**of, mode="eager", inputs="host"), numpy(**of)]
    planned = plan(*cases)
    for one in planned:
        compile(scripts.of_cases([one]), "", "exec")
        loop = scripts.loop_script(Loop(case=one.case, chained=True), one)
        compile(loop.text, "", "exec")
    text = scripts.of_cases(planned)
    assert text.count("runpy.run_path") == len(names)
    looks = """
for f, (state,), _ in cases.values():
    state["x"] += 3
    found = f(state)
    print(int((found["x"] if isinstance(found, dict) else found)[0]))
"""
    # (0 + 3) * factor + 1, each by its own file.
    found = run(text + looks, tmp_path).splitlines()[-len(cases) :]
    assert found == [str(3 * factor + 1) for factor in range(len(names)) for _ in "abc"]


# Loops.


def test_every_loop_is_python_and_waits_where_it_says() -> None:
    (planned,) = plan(case())
    waits = {
        "never": "",
        "end": "    result.block_until_ready()\n    stopwatch",
        "each": "        result.block_until_ready()\n",
    }
    for style in LOOP_STYLES:
        for chained in (False, True):
            loop = Loop(case=planned.case, calls=5, style=style, chained=chained)
            text = scripts.loop_script(loop, planned).text
            compile(text, "loop", "exec")
            assert text.startswith(f"# {planned.case.label}, in a loop")
            body = text[text.index("start = ") : text.index(" = perf_counter() - s")]
            assert waits[style] in body
            assert ("block_until" in body) == (style in ("end", "each"))
            assert ("f(x, *rest)" in body) == chained
            assert len(text.splitlines()) <= LINES + 3
            assert max(map(len, text.splitlines())) <= 88


def test_loops_run_by_themselves(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("ONE = 1\n")
    path = tmp_path / "own.py"
    path.write_text(OWN)
    wide = case(mode="eager", inputs="host", dtype="float64")
    own = case(op=f"{path}:step", dtype="")
    loops: list[tuple[Case, LoopStyle, bool]] = [
        (case(), "never", True),
        (wide, "each", False),
        (own, "each", True),
        (own, "end", False),
    ]
    made: list[scripts.Script] = []
    for one, style, chained in loops:
        (planned,) = plan(one)
        loop = Loop(case=planned.case, calls=5, style=style, chained=chained)
        made.append(scripts.loop_script(loop, planned))
    text = scripts.joined(made, "loops").replace("perf_counter() + 1", "0")
    out = run(text, tmp_path)
    found = re.findall(r"^stopwatch (\S+) s, true (\S+) s$", out, re.MULTILINE)
    assert len(found) == len(loops), out
    assert all(0 < float(stopwatch) <= float(true) for stopwatch, true in found)


# Snippets.

SETUP = """\
x = jnp.ones((600, 600), jnp.float32)


def bad(x):
    if x > 0:
        return x


def dropped():
    for _ in range(20):
        x @ x
"""


def snippet(*parts: Timed | Shown, **more: Any) -> Snippet:
    fields = {"title": "A title", "setup": SETUP, "budget_seconds": 0.3, **more}
    return Snippet(parts=parts, **fields)


def test_a_snippet_prints_every_part_by_its_name(tmp_path: Path) -> None:
    waited = "(x @ x).block_until_ready()"
    parts = (
        Timed(name="warm", code=waited, once=True),
        Timed(name="dropped", code="dropped()", once=True),
        Timed(name="next", code=waited, once=True),
        Timed(name="all", code=f"[dropped(), {waited}]", once=True),
        Timed(name="plain", code="x @ x"),
        Timed(name='"blocked"', code=waited),
        Shown(name="pair", code="x.dtype, x.ndim"),
        Shown(name="lines", code="jnp.max(\n    x\n)  # of all"),
        Shown(name="statement", code="for i in range(2):\n    y = i\nprint('y', y)"),
        Shown(name="refused", code="jax.jit(bad)(1.0)", raises=True),
        Shown(name="last", code="print('the end:', y)"),
        Shown(name="x64", code="jnp.asarray(0.5).dtype"),
        Shown(name="device", code="jnp.ones(1).devices()"),
    )
    text = scripts.snippet_script(snippet(*parts, x64=True, device="cpu:1")).text
    assert SETUP in text
    assert "jaxtui" not in text
    lines = run(text, tmp_path, JAX_NUM_CPU_DEVICES="2").splitlines()
    found = dict(line.partition(":")[::2] for line in lines)
    seconds = {name: float(found[name].split()[0]) for name in ("next", "all")}
    # What was dropped is waited for outside of the clock.
    assert 2 * seconds["next"] < seconds["all"]
    assert re.fullmatch(r" \S+ s", found['"blocked"'])
    assert re.fullmatch(r" \S+ s", found["plain"])
    assert found["pair"] == " (dtype('float32'), 2)"
    assert found["lines"] == " 1.0"
    assert "y 1" in lines
    assert found["refused"].startswith(" TracerBoolConversionError Attempted")
    assert found["the end"] == " 1"
    assert found["x64"] == " float64"
    assert re.search(r"id=1|CPU_1|cpu:1", found["device"])


def test_nothing_is_in_it_that_is_not_needed() -> None:
    made = scripts.snippet_script(snippet(Shown(name="it", code="1"), setup=""))
    assert made.text == '# A title\nimport jax\n\nprint("it:", 1)\n'
    once = Timed(name="it", code="lax.add(1, 2)", once=True)
    text = scripts.snippet_script(snippet(once, setup="")).text
    assert "take_turns" not in text
    assert "from jax import lax" in text
    assert "numpy" not in text


@pytest.mark.parametrize("code", ["1, 2", "1,", "[\n    1,\n]", "1  # one", "'#'"])
def test_expressions_keep_their_value_wherever_they_stand(code: str) -> None:
    parts = (Shown(name="a", code=code), Timed(name="b", code=code, once=True))
    body = scripts.snippet_script(snippet(*parts, setup="")).body
    shown = body[body.index('print("a:"') :]
    seen: list[object] = []
    space = {
        "print": lambda name, value, *unit: unit or seen.append(value),
        "time_calls": lambda f, *_: seen.append(f()) or [[0.0]],
        "wait_for": None,
    }
    exec(shown, space)
    assert seen == [eval(code)] * 2


def test_what_is_no_expression_cannot_be_timed() -> None:
    with pytest.raises(SyntaxError):
        scripts.snippet_script(snippet(Timed(name="it", code="y = 1")))


# Lessons, and several in one file.


@pytest.mark.parametrize("name", lessons.NAMES)
async def test_every_step_of_every_lesson_is_python(name: str) -> None:
    lesson = lessons.load(name)
    here = on(lesson)
    for step in lesson.steps:
        parts = await scripts.code_parts(step.works(here), asked)
        text = scripts.joined(parts, step.title)
        compile(text, step.title, "exec")
        for work in step.works(here):
            if isinstance(work, Snippet):
                codes = (work.setup, *(part.code for part in work.parts))
                assert not re.search(rf"\b({NAMES})\b", "\n".join(codes)), step.title


def test_what_a_part_sets_does_not_reach_the_next(tmp_path: Path) -> None:
    looks = Shown(name="x64", code="jax.config.jax_enable_x64")
    count = Shown(name="count", code="len(jax.devices('cpu')), '''\\n'''")
    parts = [
        scripts.snippet_script(snippet(looks, x64=True, title="a 'wide' \"one\"\n")),
        scripts.snippet_script(snippet(looks, setup="")),
        scripts.snippet_script(snippet(count, cpu_devices=3, setup="")),
        scripts.snippet_script(snippet(count, setup="")),
    ]
    text = scripts.joined(parts, "all of it")
    assert text.startswith("# all of it\n")
    lines = run(text, tmp_path, JAX_NUM_CPU_DEVICES="2").splitlines()
    found = [line for line in lines if line.startswith(("x64", "count"))]
    assert found[:2] == ["x64: True", "x64: False"]
    assert [line.split()[1] for line in found[2:]] == ["(3,", "(2,"]
    assert scripts.joined(parts[:1], "it") == parts[0].text
    assert scripts.joined([], "it") == "# it: nothing runs here.\n"
