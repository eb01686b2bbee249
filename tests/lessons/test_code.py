"""The parts of a step's code, one by one and as a single file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec

from jaxtui.lessons.code import CodePart, code_parts, joined
from jaxtui.model import (
    Case,
    Experiment,
    Failure,
    Loop,
    Plan,
    PlannedCase,
    Shown,
    Snippet,
)
from jaxtui.scripts.loops import loop_title

CASE = Case(op="selu", size=64, dtype="float32", device="cpu:0", mode="jit")
SETUP = "f = lambda x: x\nargs = [1]\n"


async def plan(experiment: Experiment) -> Plan:
    return Plan(
        cases=tuple(
            PlannedCase(
                case=case,
                memory_bytes=0,
                host_memory_bytes=0,
                flops=None,
                bytes=None,
                script=f'"""{case.label}, timed without jaxtui."""\n\nprint(1)\n',
                setup=SETUP,
            )
            for case in experiment.cases
        ),
        budget_seconds=1.0,
    )


async def refuse(experiment: Experiment) -> Plan:
    (case,) = experiment.cases
    failure = Failure(case=case, error="No room.", hint="Go\nsmaller.")
    planned = PlannedCase(
        case=case,
        memory_bytes=0,
        host_memory_bytes=0,
        flops=None,
        bytes=None,
        problem=failure,
    )
    return Plan(cases=(planned,), budget_seconds=1.0)


def run(script: str, folder: Path) -> str:
    path = folder / "script.py"
    path.write_text(script, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=True
    ).stdout


OTHER = Case(op="sum", size=64, dtype="float32", device="cpu:0", mode="jit")


async def test_the_cases_of_an_experiment_take_turns_in_one_part() -> None:
    (part,) = await code_parts((Experiment(cases=(CASE, OTHER)),), plan)
    assert part.title == "2 cases of selu and sum, taking turns"
    assert "take_turns(" in part.code
    assert CASE.label in part.code
    assert OTHER.label in part.code


async def test_a_case_alone_has_a_plain_loop() -> None:
    (part,) = await code_parts((Experiment(cases=(CASE,)),), plan)
    assert part.title == CASE.label
    assert "print(1)" in part.code


async def test_sizes_do_not_take_turns_where_memory_is_short() -> None:
    async def short(experiment: Experiment) -> Plan:
        return msgspec.structs.replace(await plan(experiment), grouped=True)

    sizes = [msgspec.structs.replace(CASE, size=n) for n in (64, 128)]
    cases = tuple(
        msgspec.structs.replace(one, mode=mode)
        for mode in ("jit", "eager")
        for one in sizes
    )
    parts = await code_parts((Experiment(cases=cases),), short)
    assert ["128" in part.code for part in parts] == [False, True]
    assert ["take_turns(" in part.code for part in parts] == [True, True]


async def test_those_that_cannot_run_here_stand_after_those_that_can() -> None:
    async def some(experiment: Experiment) -> Plan:
        first, second = (await plan(experiment)).cases
        failure = Failure(case=first.case, error="No room.", hint="")
        first = msgspec.structs.replace(first, problem=failure)
        return Plan(cases=(first, second), budget_seconds=1.0)

    able, missing = await code_parts((Experiment(cases=(CASE, OTHER)),), some)
    assert able.title == OTHER.label
    assert missing.code == f"# {CASE.label} does not run here. No room.\n"


async def test_a_loop_is_made_of_the_setup_of_its_case() -> None:
    loop = Loop(case=CASE, calls=3, style="each")
    (part,) = await code_parts((loop,), plan)
    assert SETUP in part.code
    assert part.title == loop_title(loop)
    assert CASE.label in part.title
    assert "3 independent calls" in part.title


async def test_what_cannot_run_here_is_a_comment_that_says_why() -> None:
    for work in (Experiment(cases=(CASE,)), Loop(case=CASE)):
        (part,) = await code_parts((work,), refuse)
        assert part.code == (
            f"# {CASE.label} does not run here. No room. Go smaller.\n"
        )


def test_a_single_part_is_the_whole_file() -> None:
    assert joined([CodePart(title="a", code="x = 1\n")], "both") == "x = 1\n"


def test_nothing_is_said_to_be_nothing() -> None:
    assert "nothing runs here" in joined([], "this step")


def test_parts_are_named_and_run_in_order(tmp_path: Path) -> None:
    parts = [
        CodePart(title="one", code='"""one, timed without jaxtui."""\nprint(1)\n'),
        CodePart(title='a "two"', code="print(2)\n"),
    ]
    script = joined(parts, "both")
    assert script.startswith('"""both"""\n')
    assert "timed without" not in script
    assert run(script, tmp_path).split("\n") == ["one", "1", 'a "two"', "2", ""]


def test_what_a_part_sets_does_not_reach_the_next(tmp_path: Path) -> None:
    sets = (
        "import jax\n"
        'jax.config.update("jax_enable_x64", True)\n'
        'jax.config.update("jax_default_device", jax.devices()[0])\n'
    )
    looks = "print(jax.config.jax_enable_x64, jax.config.jax_default_device)\n"
    parts = [CodePart(title="a", code=sets), CodePart(title="b", code=looks)]
    assert run(joined(parts, "both"), tmp_path).split("\n")[2] == "False None"


async def test_simulated_devices_get_a_process_of_their_own(tmp_path: Path) -> None:
    count = Shown(name="count", code="len(jax.devices('cpu'))")
    quoted = Shown(name="quoted", code="'\\n'.join('''a''')")
    alone = Snippet(title="alone", setup="", parts=(count, quoted), cpu_devices=3)
    plain = Snippet(title="plain", setup="", parts=(count,), device="cpu:0")
    parts = await code_parts((plain, alone, plain), plan)
    out = run(joined(parts, "both"), tmp_path)
    counts = [line for line in out.split("\n") if line.startswith("count")]
    assert counts == ["count: 4", "count: 3", "count: 4"]
