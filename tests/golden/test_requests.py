"""What commands ask of an engine, their exit codes, and why they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxtui.features.bench import values
from tests.fake_engine import OPS, FakeEngine, cpu_devices
from tests.features.bench.test_values import FORMS, NO_SWEEP, OWN
from tests.features.crossover.test_command import machine as curves
from tests.features.roofline.test_command import CATALOGUE, machine
from tests.golden.test_documents import DOCUMENTS, check_frozen
from tests.records import op
from tests.ui.commands.fakes import complete, one_fails, run

SPREAD = op("all_reduce", "float32", collective=True), op("selu", "float32")
HALF = msgspec.structs.replace(OPS[0], dtypes=("bfloat16",))
SMALL, LARGE = (
    tuple(msgspec.structs.replace(one, **{limit: size}) for one in OPS)
    for limit, size in (("default", 512), ("minimum", 32))
)
MANY = ",".join(map(str, range(100, 160)))
PLURALS = ("sizes", "dtypes", "devices", "modes")
"""Accepted, and not in the help."""

ENGINES: dict[str, Callable[..., FakeEngine]] = {
    "two CPUs": lambda: FakeEngine(complete),
    "the first case fails": lambda: FakeEngine(one_fails),
    "one CPU": lambda: FakeEngine(complete, ops=SPREAD, devices=cpu_devices(1)),
    "two CPUs for collectives": lambda: FakeEngine(complete, ops=SPREAD),
    "curves that cross": lambda: FakeEngine(curves),
    "small ops": lambda: FakeEngine(curves, ops=SMALL),
    "large ops": lambda: FakeEngine(curves, ops=LARGE),
    # 12 GB/s for a millisecond; a matmul of 1000 takes 13 ms of 150 GFLOP/s.
    "roofs": machine,
    "little room": lambda: machine(fits=2**16),
    "a product in bfloat16": lambda: machine(catalogue=(HALF, *CATALOGUE[1:])),
    "float32 in bfloat16": lambda: machine(partial(complete, multiplies="bfloat16")),
}

TYPED = {
    "two CPUs": [
        "bench matmul:1k selu --size 256..512 --dtype f32,bf16 --device cpu:1"
        " --mode jit,numpy --inputs host --precision highest --budget 7 --target 1"
        " --seed 3",
        "bench selu",
        "bench selu --processes 0",
        "bench selu --processes 3 --budget 6",
        *(f"bench selu --{plural} nonsense" for plural in PLURALS),
        "lie",
        "lie selu",
        "lie selu:4k",
        "lie step.py:step",
        "lie selu,matmul",
        "lie selu:4,8",
        "lie nothing",
    ],
    "the first case fails": ["bench selu", "lie"],
    "one CPU": [
        "bench all_reduce:1k..64k",
        "bench all_reduce:1k..64k --device all",
        # What can run does, and the other is a row.
        "bench all_reduce:1k..64k selu",
    ],
    "two CPUs for collectives": [
        "bench all_reduce:1k..64k --device cpu:1",
        "bench all_reduce:1k..64k --mesh 2x1@y",
    ],
    "curves that cross": [
        "crossover matmul --between jit/bf16/highest,jit/cpu:1/host --size 16..128x2"
        " --device cpu:0 --seed 7",
        "crossover step.py:step --size 16..64k",
        "crossover step.py:step --size 16..64 --dtype bf16",
        "crossover step.py:step",
    ],
    "small ops": ["crossover selu --between numpy,eager"],
    "large ops": ["crossover selu --size 16..64"],
    "roofs": [
        "roofline copy:1M selu:1M --dtype bf16 --seed 3 --device cpu:1",
        "roofline copy:1M --budget 30",
        "roofline copy selu:1000 matmul",
        "roofline copy --size 1000",
        f"roofline copy selu --size {MANY}",
        f"roofline copy selu --size {MANY} --yes",
    ],
    "little room": ["roofline copy"],
    "a product in bfloat16": [
        f"roofline --mode jit,numpy --dtype {x}" for x in ("f32", "f32,bf16")
    ],
    "float32 in bfloat16": ["roofline matmul:1000"],
}


def asked(struct: Any) -> str:
    """The fields that are not as they come."""
    fields = [
        (field.name, getattr(struct, field.name))
        for field in msgspec.structs.fields(struct)
        if field.name != "cases" and getattr(struct, field.name) != field.default
    ]
    return " ".join(f"{name}={value}" for name, value in fields)


def lines_of(work: Any) -> Iterator[str]:
    yield f"  {type(work).__name__} {asked(work)}".rstrip()
    cases: tuple[Any, ...] = getattr(work, "cases", ())
    for case in cases[:12]:
        yield f"    {asked(case)}"
    if len(cases) > 12:
        yield f"    … {len(cases)} cases, the last: {asked(cases[-1])}"


def test_requests(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.py").write_text("def step(x): return x\n")
    lines = []
    for name, commands in TYPED.items():
        lines.append(f"# {name}")
        for number, command in enumerate(commands):
            # A thread of the command before may still write its history.
            monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / f"{name} {number}"))
            engine = ENGINES[name]()
            code = run(engine, *command.split())
            assert "close" in engine.calls or not engine.works
            lines.append(f"$ jaxtui {command.replace(MANY, '100,…,159')} → {code}")
            lines += [f"  {line}" for line in capsys.readouterr().err.splitlines()]
            for work in engine.works:
                lines += [x.replace(f"{tmp_path}/", "") for x in lines_of(work)]
    check_frozen(DOCUMENTS / "requests.txt", "\n".join(lines) + "\n")
    assert run(FakeEngine(complete), "bench", "--help") == 0
    out = capsys.readouterr().out
    assert not [plural for plural in PLURALS if f"--{plural}" in out]


def test_the_form_its_command_and_its_cases_or_what_is_wrong_with_it() -> None:
    lines = []
    for form, state in FORMS:
        meaning = values.interpret(form, state)
        lines += [f"# {form.command}", f"  {form.summary}"]
        lines += [f"  {'problem: ' * meaning.problem}{meaning.message}"]
        cases = meaning.experiment.cases if meaning.experiment else ()
        lines += [f"    {asked(case)}" for case in cases]
    lines += [f"{asked(case)}: {values.why_no_sweep(case)}" for case in NO_SWEEP]
    text = "\n".join(line.rstrip() for line in lines).replace(
        OWN.partition(":")[0], "mine.py"
    )
    text = text.replace(OWN.partition(":")[0], "mine.py")
    check_frozen(DOCUMENTS / "forms.txt", f"{text}\n")
