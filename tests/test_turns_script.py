"""The script of cases that take turns: readable, apart from each other, and it runs."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from jaxtui.measure.script import script, setup
from jaxtui.model import Case, PlannedCase
from jaxtui.scripts.allocator import SETTLED
from jaxtui.scripts.turns import REST, ROUNDS, turns_script


def case(**changes: Any) -> Case:
    fields = {"op": "matmul", "size": 32, "dtype": "float32", "device": "cpu:0"}
    return Case(**({**fields, "mode": "jit"} | changes))


def numpy(**changes: Any) -> Case:
    return case(device="host", mode="numpy", inputs="host", **changes)


def planned(one: Case) -> PlannedCase:
    return PlannedCase(
        case=one,
        memory_bytes=0,
        host_memory_bytes=0,
        flops=None,
        bytes=None,
        script=script(one),
        setup=setup(one),
    )


def text(*cases: Case) -> str:
    return turns_script([planned(one) for one in cases])


def functions(code: str) -> list[str]:
    return [node.name for node in ast.parse(code).body if hasattr(node, "name")]


def run(code: str, folder: Path) -> str:
    """What a script prints where jaxtui cannot be imported, in short turns."""
    path = folder / "turns.py"
    path.write_text(re.sub(r"perf_counter\(\) \+ \S+", "perf_counter()", code))
    done = subprocess.run(
        [sys.executable, path.name],
        cwd=folder,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_case_prints_its_clocks_under_its_title(tmp_path: Path) -> None:
    cases = case(), case(mode="eager"), case(mode="eager", inputs="host"), numpy()
    code = text(*cases)
    assert set(re.findall(r"^(?:import|from) (\w+)", code, re.M)) <= {
        "jax",
        "numpy",
        *sys.stdlib_module_names,
    }
    both = r"ready    (\S+) s\ndispatch (\S+) s\n"
    form = "".join(f"{one.label}\n{both}" for one in cases[:3])
    found = re.fullmatch(
        rf"{form}{numpy().label}\nready    (\S+) s\n", run(code, tmp_path)
    )
    assert found is not None
    ready, dispatch = map(float, found.groups()[:2])
    assert 0 < dispatch <= ready


def test_names_do_not_collide_and_forms_stand_there_once() -> None:
    sizes = [each for n in (8, 16) for each in (numpy(size=n), case(size=n))]
    more = case(size=8, mode="eager"), case(op="sum", size=8)
    code = text(*sizes, *more)
    names = functions(code)
    assert len(names) == len(set(names))
    assert names.count("matmul") == names.count("numpy_matmul") == 1
    assert {"matmul_jit_8", "matmul_jit_16", "matmul_numpy_8", "matmul_eager"} <= {
        *names
    }
    assert code.count(SETTLED) == 1


def test_cases_that_differ_in_one_thing_are_called_after_it() -> None:
    for field, values in {
        "precision": ("default", "highest"),
        "inputs": ("device", "host"),
        "device": ("cpu:0", "cpu:1"),
        "dtype": ("float32", "bfloat16"),
    }.items():
        names = functions(text(*(case(**{field: value}) for value in values)))
        expected = [f"matmul_jit_{value.replace(':', '_')}" for value in values]
        assert names[-2:] == expected


def test_a_case_named_twice_has_one_turn() -> None:
    assert functions(text(case(), case(), numpy())).count("matmul_jit") == 1


def test_numpy_comes_first_and_one_pause_behind_it(tmp_path: Path) -> None:
    cases = case(), numpy(), case(mode="eager"), numpy(size=16)
    code = text(*cases).replace("    rest()\n", "    print('pause')\n")
    for clock in ("timed", "timed_on_host"):
        begin = f"def {clock}(f, args):\n"
        code = code.replace(begin, f'{begin}    print("{clock}")\n')
    lines = run(code, tmp_path).splitlines()
    turns = [line for line in lines if line in ("timed", "timed_on_host", "pause")]
    one_round = ["timed_on_host"] * 2 + ["pause"] + ["timed"] * 2
    assert turns == one_round * ROUNDS
    for alike in ((case(), case(mode="eager")), (numpy(), numpy(size=16))):
        assert "rest" not in text(*alike)


def test_the_rest_of_a_script_ends_when_the_threads_are_idle() -> None:
    names: dict[str, Any] = {"time": FakeTime(busy=4)}
    exec(REST, names)
    names["rest"]()
    assert names["time"].pauses == 5
    names["time"] = FakeTime(busy=10**6)
    names["rest"]()
    assert names["time"].pauses == 30


class FakeTime:
    """The process uses a whole core during the first pauses."""

    def __init__(self, busy: int) -> None:
        self.busy, self.pauses, self.used = busy, 0, 0.0

    def process_time(self) -> float:
        return self.used

    def sleep(self, seconds: float) -> None:
        self.pauses += 1
        self.used += seconds if self.pauses <= self.busy else 0.0


def test_64_bit_types_are_those_of_each_case(tmp_path: Path) -> None:
    wide, narrow = case(dtype="float64"), case()
    hosted = case(dtype="float64", mode="eager", inputs="host")
    code = text(wide, narrow, hosted, numpy(dtype="float64"))
    looks = "\n    result = f(*args)\n"
    seen = f"{looks}    print('dtype', result.dtype)\n"
    lines = run(code.replace(looks, seen), tmp_path).splitlines()
    dtypes = [line.split()[1] for line in lines if line.startswith("dtype ")]
    assert Counter(dtypes) == {"float64": 3 * ROUNDS, "float32": ROUNDS}


def test_64_bit_types_are_set_once_where_all_cases_have_them() -> None:
    setting = "jax.config.update("
    code = text(case(dtype="float64"), case(dtype="float64", mode="eager"))
    assert code.count(setting) == 1
    assert f'\n{setting}"jax_enable_x64", True)' in code
    assert setting not in text(case(), numpy(dtype="float64"))


def test_remarks_stand_with_their_case_and_kernels_stay_whole() -> None:
    selu = {"op": "selu", "size": 64}
    code = text(case(**selu), case(**selu, mode="pallas"))
    assert {"selu", "pallas_selu"} <= {*functions(code)}
    _, _, after = code.partition("def selu_pallas():")
    assert "the times mean nothing" in after


def test_lines_are_no_longer_than_they_may_be() -> None:
    hosted = {"inputs": "host", "dtype": "bfloat16", "precision": "highest"}
    code = text(case(**hosted), case(**hosted, mode="eager"), numpy())
    assert max(map(len, code.splitlines())) <= 88
    assert "\n\n\n\n" not in code
    compile(code, "turns", "exec")
