"""``jaxtui audit`` on programs: what it finds, what it leaves alone, how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest

from jaxtui import cli
from jaxtui.features.audit import child as audits
from tests.processes import PROGRAM, alive, environment, wait_until
from tests.processes import ended as jaxtui

PROGRAMS = Path(__file__).with_name("audited")


def document(*arguments: object, **options: Any) -> tuple[int, dict[str, Any], str]:
    ended = jaxtui("audit", "--json", *arguments, JAX_PLATFORMS="cpu", **options)
    return ended.returncode, json.loads(ended.stdout), ended.stderr


def test_every_planted_mistake_is_found_and_none_is_invented() -> None:
    path = PROGRAMS / "mistakes.py"
    planted = {
        (line.rpartition("  # ")[2], number)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "  # " in line
    }
    code, audit, printed = document(path, TF_CPP_MIN_LOG_LEVEL=0)
    found = {(finding["kind"], finding["line"]) for finding in audit["findings"]}
    assert found == planted
    assert code == 1
    assert audit["notes"] == []
    # The program's own output, and no line of the profiler.
    assert len(printed.splitlines()) > len(planted)
    assert "profil" not in printed
    by_kind = {finding["kind"]: finding for finding in audit["findings"]}
    assert by_kind["unawaited"]["seconds"] > 0
    assert by_kind["first-call"]["fix"] == [
        "+    jax.block_until_ready(scaled(x, rate))  # compiles"
    ]


def test_a_program_that_times_itself_well_has_no_finding() -> None:
    code, audit, _ = document(PROGRAMS / "clean.py")
    assert audit["findings"] == []
    assert {note["flag"] for note in audit["notes"]} <= {
        "first-call",
        "one-repeat",
        "idle-device",
    }
    assert code == 0
    # A row for each function that a line times, and none for NumPy.
    begins = [span["begin"]["line"] for span in audit["spans"]]
    assert len(begins) == len(set(begins)) == 17
    shared = audit["spans"][begins.index(82)]
    assert (shared["functions"], shared["count"]) == (["<lambda>"], 6)


AS_PYTHON_DOES = """
import os, sys
if not os.fork(): os._exit(4)
assert __name__ == "__main__" and __file__.endswith("program.py")
assert sys.argv[1:] == ["--json", "x"]
sys.exit(0)
"""


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("raise SystemExit('no')", 1, 3),
        ("import os; os._exit(7)", 7, 3),
        ("def f(:", 1, 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, 3),
        (AS_PYTHON_DOES, 0, 0),
    ],
)
def test_the_exit_status_is_the_programs_own(
    tmp_path: Path, text: str, status: int, code: int
) -> None:
    path = tmp_path / "program.py"
    path.write_text(text)
    ended, audit, _ = document(path, "--json", "x")
    assert (audit["status"], ended) == (status, code)
    assert [note["flag"] for note in audit["notes"]] == [
        "audit-lost" if status in (7, 137) else "audit-no-jax"
    ]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("audit FILE --json --python=x --json", "--json and --python"),
        ("profile FILE --json", "--json"),
        ("audit --json FILE --json", ""),
        ("profile FILE --lr 0.1 --steps 3 -m x --help", ""),
    ],
)
def test_options_behind_a_program_are_its_own(
    tmp_path: Path, typed: str, told: str
) -> None:
    path = tmp_path / "program.py"
    path.write_text("import sys\nprint(*sys.argv[1:], file=sys.stderr)")
    before, _, behind = typed.partition(" FILE ")
    lines = jaxtui(*before.split(), path, *behind.split()).stderr.splitlines()
    assert behind in lines
    hint = f"To give that to jaxtui, type it after `jaxtui {before}`."
    says = [f"jaxtui: {path} got {told}. {hint}"]
    assert [line for line in lines if " got " in line] == says * bool(told)


def test_a_traceback_has_no_frame_of_jaxtui(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("def f():\n    raise KeyError('boom')\n\nf()\n")
    code, audit, printed = document(path)
    assert (code, audit["status"]) == (3, 1)
    assert printed.count("  File ") == 2
    assert printed.index("program.py") < printed.index("KeyError: 'boom'")


def test_a_module_is_run_as_python_m_does(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "__main__.py").write_text(
        "import sys\nassert (__name__, __package__) == ('__main__', 'package')\n"
        "assert sys.argv[1:] == ['-v'], sys.argv\n"
    )
    ended = jaxtui("audit", "-m", "package", "-v", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("typed", ["", "nowhere.py", "."])
def test_what_is_no_program_is_refused(
    typed: str, run: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, err = run("audit", *typed.split())
    assert (code, out, len(err.splitlines())) == (64, "", 1)


ENDLESS = """\
import time
start = time.time()
while True:
    try:
        print(time.time() - start, flush=True)
        time.sleep(600)
    finally:
        print("unwinding", flush=True)
"""


@pytest.mark.parametrize(
    ("number", "times", "to_both"),
    [
        (signal.SIGTERM, 3, False),
        (signal.SIGHUP, 1, False),
        (signal.SIGINT, 1, False),
        (signal.SIGINT, 3, False),
        (signal.SIGINT, 3, True),
    ],
)
def test_a_program_that_never_ends_is_judged_when_it_is_stopped(
    tmp_path: Path, number: signal.Signals, times: int, to_both: bool
) -> None:
    path = tmp_path / "program.py"
    path.write_text(ENDLESS)
    process = subprocess.Popen(
        [*PROGRAM, "audit", "--json", str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(TMPDIR=tmp_path),
        start_new_session=True,
        encoding="utf-8",
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline()
        for index in range(times):
            if to_both:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            if not (index or to_both) and number == signal.SIGINT:
                assert "unwinding" in process.stderr.readline()
        out, _ = process.communicate(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 128 + number
    assert json.loads(out)["host"]["python"], "what was seen of it"
    assert [one.name for one in tmp_path.glob("jaxtui-*")] == []


AT_ONCE = """
import os, signal, sys, threading
from jaxtui.tasks import script

class Event(threading.Event):
    def set(self):
        super().set()
        os.kill(os.getpid(), signal.SIGTERM)

threading.Event = Event
script.run([sys.argv[1]], lambda: print("written", flush=True))
"""


def test_a_signal_right_after_another_takes_nothing_away(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import os\nos.kill(os.getpid(), 15)\n")
    command = [sys.executable, "-c", AT_ONCE, str(path)]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", env=environment(), timeout=60
    )
    assert (done.stdout, done.returncode) == ("written\n", -signal.SIGTERM)


@pytest.mark.parametrize("command", ["audit", "profile"])
def test_a_program_ends_with_a_jaxtui_that_was_killed(
    tmp_path: Path, command: str
) -> None:
    path = tmp_path / "program.py"
    path.write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)")
    process = subprocess.Popen(
        [*PROGRAM, command, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(TMPDIR=tmp_path),
    )
    assert process.stdout is not None
    program = int(process.stdout.readline())
    process.kill()
    wait_until(lambda: not alive(program), "the end of the program")
    process.communicate(timeout=60)


async def test_a_signal_in_the_start_of_a_program_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import time; time.sleep(600)")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        status, witness = await audits.watch(
            [str(path)], started=methodcaller("send_signal", number)
        )
        assert status == 128 + number
        assert witness is not None


@pytest.mark.parametrize("command", ["audit", "profile"])
def test_a_signal_before_there_is_a_program_has_its_document(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.py"
    path.write_text("")
    arguments = [command, "--json", str(path)]
    assert cli.main(arguments, early=[signal.SIGTERM]) == 143
    assert json.loads(capsys.readouterr().out)


def test_another_python_may_run_the_program(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import sys; sys.exit(3 if sys.flags.utf8_mode else 0)")
    python = f"{sys.executable} -X utf8"
    ended = jaxtui("audit", "--json", "--python", python, path)
    assert json.loads(ended.stdout)["status"] == 3


def test_a_program_that_traces_itself_does(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "import jax, jax.numpy as jnp, sys\n"
        "jnp.ones(3).block_until_ready()\n"
        "with jax.profiler.trace(sys.argv[1]):\n    jnp.ones(4).block_until_ready()\n"
    )
    code, audit, printed = document(path, tmp_path / "theirs")
    assert (code, audit["status"]) == (0, 0), printed
    assert "audit-traces-itself" in [note["flag"] for note in audit["notes"]]
    assert [*(tmp_path / "theirs").rglob("*.xplane.pb")]
