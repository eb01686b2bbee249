"""The commands: exit codes, one JSON document, sentences for mistakes, and Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence

import pexpect
import pytest

from jaxtui import cli
from jaxtui.commands.devices import FIELDS
from jaxtui.commands.progress import progress_line
from jaxtui.engine.client import EngineOptions
from jaxtui.engine.protocol import Envelope
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Device,
    EngineDied,
    EngineFailed,
    Event,
    Experiment,
    Failure,
    Finding,
    Hello,
    Holder,
    Host,
    Logged,
    Measurement,
    Note,
    Noticed,
    OpInfo,
    Phases,
    Plan,
    Progress,
    Ready,
    RunFinished,
    RunStarted,
    Sampled,
    Samples,
)
from jaxtui.stats import summarize
from jaxtui.tui.state import EMPTY, reduce

HOST = Host(
    hostname="box",
    python="3.12.1",
    jax="0.12.0",
    jaxlib="0.12.0",
    numpy="2.0.0",
    platform_version="cpu",
    cpu_count=2,
)
OPS = tuple(
    OpInfo(
        name=name,
        summary=f"What {name} does.",
        size_means="n of n×n",
        dtypes=("float32", "bfloat16"),
        flops="2 n³",
        bytes="3 n²",
        minimum=1,
        default=512,
        maximum=4096,
        takes_precision=name == "matmul",
    )
    for name in ("matmul", "selu")
)
DEVICES = tuple(
    Device(id=index, platform="cpu", device_kind="cpu", process_index=0)
    for index in range(2)
)
UP: tuple[Event, ...] = (
    Hello(pid=1, ops=OPS),
    Ready(host=HOST, devices=DEVICES, ops=OPS),
)
DEADLINE_SECONDS = 60


class FakeEngine:
    """An engine that says what a test wants, without a process."""

    generation = 1

    def __init__(
        self,
        opening: Sequence[Event] = UP,
        answer: Callable[[Experiment], Sequence[Event]] | None = None,
    ) -> None:
        self.opening = opening
        self.answer = answer or (lambda experiment: complete(experiment))
        self.asked: list[Experiment] = []
        self.options: EngineOptions | None = None
        self.stopped = 0
        self.closed = False

    def __call__(self, options: EngineOptions) -> FakeEngine:
        self.options = options
        return self

    async def start(self) -> None:
        self.queue: asyncio.Queue[Envelope | None] = asyncio.Queue()
        for event in self.opening:
            self.say(None, event)

    async def events(self) -> AsyncIterator[Envelope]:
        while (envelope := await self.queue.get()) is not None:
            yield envelope

    async def run(self, experiment: Experiment) -> int:
        self.asked.append(experiment)
        for event in self.answer(experiment):
            self.say(1, event)
        return 1

    async def stop(self) -> None:
        self.stopped += 1
        self.say(1, RunFinished(outcome="cancelled", elapsed_seconds=1.0))

    async def close(self) -> None:
        self.closed = True
        self.queue.put_nowait(None)

    async def plan(self, experiment: Experiment) -> Plan:
        raise NotImplementedError

    async def release(self) -> None:
        raise NotImplementedError

    async def refresh_memory(self) -> None:
        raise NotImplementedError

    def say(self, run: int | None, event: Event) -> None:
        self.queue.put_nowait(Envelope(generation=1, run=run, event=event))


def measured(case: Case, experiment: Experiment, **changes: object) -> Measurement:
    ready = summarize([[1e-3, 1.1e-3, 1.2e-3]] * 8)
    samples = {"samples": Samples(ready=(1e-3,))} if experiment.keep_samples else {}
    values: dict[str, object] = {
        "case": case,
        "phases": Phases(first_call=2e-3),
        "dispatch": None if case.mode == "numpy" else summarize([[1e-5] * 3] * 8),
        "ready": ready,
        "pipelined_seconds": None if case.mode == "numpy" else 9e-4,
        "flops": 2.7e8,
        "bytes": 3.1e6,
        "flops_per_second": 2.7e11,
        "bytes_per_second": 3.2e9,
        "output_dtype": case.dtype,
        "error_vs_float64": 1e-7,
        "stopped": "target",
        "stable": True,
        "notes": (Note(flag="inline", text="Nothing to overlap here."),),
    }
    return Measurement(**{**values, **samples, **changes})


def began(experiment: Experiment) -> list[Event]:
    return [RunStarted(cases=experiment.cases, budget_seconds=experiment.budget)]


def complete(experiment: Experiment) -> list[Event]:
    events = began(experiment)
    for index, case in enumerate(experiment.cases):
        events.append(CaseStarted(index=index, case=case))
        result = measured(case, experiment)
        events.append(CaseMeasured(index=index, measurement=result))
    return [*events, RunFinished(outcome="complete", elapsed_seconds=1.0)]


def one_fails(experiment: Experiment) -> list[Event]:
    *events, finished = complete(experiment)
    failure = Failure(case=experiment.cases[0], error="No room.", hint="Go smaller.")
    events[2] = CaseFailed(index=0, failure=failure)
    return [*events, finished]


def run(engine: FakeEngine, *arguments: str) -> int:
    return cli.main(arguments, engine=engine)


# Bench.


def test_bench_asks_for_every_combination(capsys) -> None:
    engine = FakeEngine()
    code = run(
        engine,
        *("bench", "matmul:1k", "selu", "--size", "256..512", "--dtype", "f32,bf16"),
        *("--device", "cpu:1", "--mode", "jit,numpy", "--inputs", "host"),
        *("--precision", "highest", "--budget", "7", "--target", "1", "--seed", "3"),
    )
    assert code == 0
    (asked,) = engine.asked
    assert len(asked.cases) == 4 + 8
    assert asked.cases[0] == Case(
        op="matmul",
        size=1024,
        dtype="float32",
        precision="highest",
        device="cpu:1",
        mode="jit",
        inputs="host",
    )
    assert (asked.budget, asked.target_half_width, asked.seed) == (7.0, 0.01, 3)
    assert engine.closed


def test_bench_defaults(capsys) -> None:
    engine = FakeEngine()
    assert run(engine, "bench", "selu") == 0
    (asked,) = engine.asked
    assert asked == Experiment(
        cases=(Case(op="selu", size=512, dtype="float32", device="cpu:0", mode="jit"),)
    )
    assert vars(engine.options) == vars(EngineOptions())


def test_bench_prints_a_table_and_its_notes(capsys) -> None:
    code = run(FakeEngine(), "bench", "matmul", "--mode", "jit,numpy")
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split()[:6] == ["op", "size", "dtype", "device", "mode", "ready"]
    assert lines[1].split()[:5] == ["matmul", "512", "float32", "cpu:0", "jit"]
    assert "1.0×" in lines[1]
    assert lines[2].split()[:5] == ["matmul", "512", "float32", "host", "numpy"]
    assert out.count("inline: Nothing to overlap here.") == 1
    assert err == ""


def test_a_failed_case_is_named_and_gives_1(capsys) -> None:
    code = run(FakeEngine(answer=one_fails), "bench", "matmul", "selu")
    out = capsys.readouterr().out
    assert code == 1
    assert "failed: matmul 512 float32 jit on cpu:0\n  No room. Go smaller." in out


def test_json_is_one_document_of_the_contract(capsys) -> None:
    code = run(FakeEngine(answer=one_fails), "bench", "matmul", "selu", "--json")
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert code == 1
    assert err == ""
    assert out.endswith("}\n")
    assert list(document) == ["schema", "host", "measurements", "failures"]
    assert document["schema"] == 1
    assert {"hostname", "python", "jax", "jaxlib", "numpy", "platform_version"} <= set(
        document["host"]
    )
    (measurement,) = document["measurements"]
    assert measurement["case"] == {
        "op": "selu",
        "size": 512,
        "dtype": "float32",
        "precision": "default",
        "device": "cpu:0",
        "mode": "jit",
        "inputs": "device",
        "params": None,
    }
    phases = ("transfer", "trace", "lower", "compile", "first_call", "fetch")
    assert tuple(measurement["phases"]) == phases
    assert measurement["phases"]["transfer"] is None
    assert measurement["notes"] == [
        {"flag": "inline", "text": "Nothing to overlap here."}
    ]
    assert measurement["ready"]["n"] == 24
    assert "samples" not in measurement
    (failure,) = document["failures"]
    assert failure["case"]["op"] == "matmul"
    assert (failure["error"], failure["hint"]) == ("No room.", "Go smaller.")


def test_samples_are_in_the_json_when_asked_for(capsys) -> None:
    assert run(FakeEngine(), "bench", "selu", "--json", "--samples") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["measurements"][0]["samples"] == {
        "ready": [1e-3],
        "dispatch": None,
    }


def test_a_number_that_is_not_finite_is_null(capsys) -> None:
    def nan(experiment: Experiment) -> list[Event]:
        events = complete(experiment)
        wrong = measured(experiment.cases[0], experiment, error_vs_float64=float("nan"))
        events[2] = CaseMeasured(index=0, measurement=wrong)
        return events

    assert run(FakeEngine(answer=nan), "bench", "selu", "--json") == 0
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert document["measurements"][0]["error_vs_float64"] is None


def test_ctrl_c_stops_the_run_and_prints_what_had_arrived(capsys) -> None:
    def interrupted(experiment: Experiment) -> list[Event]:
        half = measured(experiment.cases[0], experiment, stopped=None)
        os.kill(os.getpid(), signal.SIGINT)
        return [
            *began(experiment),
            CaseStarted(index=0, case=experiment.cases[0]),
            Sampled(
                index=0,
                round=1,
                calls=1,
                dispatch=(1e-5,),
                ready=(1e-3,),
                measurement=half,
            ),
        ]

    engine = FakeEngine(answer=interrupted)
    code = run(engine, "bench", "matmul", "selu", "--json")
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert code == 130
    assert (engine.stopped, engine.closed) == (1, True)
    (measurement,) = document["measurements"]
    assert measurement["stopped"] == "cancelled"
    (failure,) = document["failures"]
    assert failure["case"]["op"] == "selu"
    assert failure["error"] == "The run was cancelled before its turn came."
    assert "had arrived" in err


def test_ctrl_c_before_jax_is_up_ends_at_once(capsys) -> None:
    engine = FakeEngine(opening=())
    begin = engine.start

    async def start() -> None:
        await begin()
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)

    engine.start = start  # type: ignore[method-assign]
    code = run(engine, "bench", "matmul", "--json")
    document = json.loads(capsys.readouterr().out)
    assert code == 130
    assert document == {
        "schema": 1,
        "host": None,
        "measurements": [],
        "failures": [],
    }
    assert engine.closed


# The other commands.


def test_devices_json_has_exactly_the_keys_of_the_contract(capsys) -> None:
    engine = FakeEngine()
    assert run(engine, "--cpu-devices", "2", "devices", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["schema", "host", "devices"]
    assert [tuple(device) for device in document["devices"]] == [FIELDS, FIELDS]
    assert document["devices"][1]["id"] == 1
    assert document["devices"][0]["coords"] is None
    assert engine.options is not None
    assert engine.options.cpu_devices == 2
    assert engine.closed


@pytest.mark.parametrize("name", ["v5litepod-16", "2x-v5litepod-8"])
def test_a_recorded_topology_needs_no_engine(capsys, name) -> None:
    assert run(FakeEngine(()), "devices", "--topology", name) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"RECORDED: {name}")
    assert "16 chips" in out
    assert run(FakeEngine(()), "devices", "--topology", name, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["devices"]) == 16


def test_an_unknown_topology_is_answered_with_those_that_exist(capsys) -> None:
    assert run(FakeEngine(()), "devices", "--topology", "v5litpod-16") == 64
    err = capsys.readouterr().err
    assert 'no topology "v5litpod-16"' in err
    assert "Did you mean v5litepod-16?" in err


def test_devices_says_what_is_to_be_known_of_the_machine(capsys) -> None:
    finding = Finding(
        name="fallback",
        severity="error",
        what="This machine has 4 chips TPU v5e, but JAX uses cpu.",
        how="The PCI bus shows the chips.",
        advice="Ask JAX why.",
    )
    ready = Ready(host=HOST, devices=DEVICES, ops=OPS, findings=(finding,))
    opening = (Hello(pid=1, ops=OPS), ready)
    assert run(FakeEngine(opening), "devices") == 0
    assert "error: This machine has 4 chips TPU v5e" in capsys.readouterr().out
    assert run(FakeEngine(opening), "devices", "--json") == 0
    out, err = capsys.readouterr()
    assert list(json.loads(out)) == ["schema", "host", "devices"]
    assert "Ask JAX why." in err


def test_what_jax_logs_a_little_later_is_not_lost(capsys) -> None:
    line = "RuntimeError: Unable to load cuDNN. Is it installed?"
    opening = (Hello(pid=1, ops=OPS), UP[-1], Logged(line=line))
    assert run(FakeEngine(opening), "devices") == 0
    out = capsys.readouterr().out
    assert "error: JAX's CUDA plugin is installed, but its library cuDNN" in out
    assert f"\n  {line}" in out


def test_bench_warns_of_what_keeps_it_from_the_accelerator(capsys) -> None:
    found = [
        Finding(name="a", severity=severity, what=f"{severity}!", how="so")
        for severity in ("error", "warning", "info")
    ]
    ready = Ready(host=HOST, devices=DEVICES, ops=OPS, findings=tuple(found))
    assert run(FakeEngine((UP[0], ready)), "bench", "matmul:8", "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["measurements"]
    assert "error: error!" in err
    assert "warning: warning!" in err
    assert "info!" not in err


def test_a_failure_comes_with_what_was_found_out_and_said(capsys) -> None:
    holder = Holder(pid=7, user="ada", command="python t.py", paths=())
    finding = Finding(
        name="a", severity="warning", what="Slow.", how="So.", advice="Do this."
    )
    failed = EngineFailed(
        reason="backend",
        error="No.",
        hint="Try.",
        detail="Error: x\nmore",
        holders=(holder,),
    )
    opening = (Noticed(findings=(finding,)), failed)
    assert run(FakeEngine(opening), "devices") == 3
    assert capsys.readouterr().err.splitlines() == [
        "jaxtui: No. Try.",
        "Held by process 7 of ada (python t.py).",
        "warning: Slow.",
        "  Do this.",
        "  So.",
        "The original text:",
        "  Error: x",
        "  more",
    ]


def test_devices_as_text_marks_simulated_ones_and_draws_the_chips(capsys) -> None:
    chips = tuple(
        Device(
            id=index,
            platform="tpu",
            device_kind="TPU v5 lite",
            process_index=0,
            coords=(index % 2, index // 2, 0),
            core_on_chip=0,
            memory={"bytes_in_use": 2**30, "bytes_limit": 2**34},
            simulated=index == 3,
        )
        for index in range(4)
    )
    ready = Ready(host=HOST, devices=chips, ops=OPS)
    assert run(FakeEngine(opening=[UP[0], ready]), "devices") == 0
    out = capsys.readouterr().out
    assert "tpu:1  TPU v5 lite" in out
    assert "1,0,0" in out
    assert out.count("SIMULATED") >= 2
    assert "\ny 0 [0] [1]\n" in out.replace("  ", " ")


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_ops_needs_no_device(capsys, flags: tuple[str, ...]) -> None:
    engine = FakeEngine(opening=UP[:1])
    assert run(engine, "ops", *flags) == 0
    out = capsys.readouterr().out
    assert "What matmul does." in out
    if flags:
        document = json.loads(out)
        assert document["schema"] == 1
        assert [op["name"] for op in document["ops"]] == ["matmul", "selu"]
    assert engine.closed


# Mistakes.


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["bench"], "Name at least one op, as in `jaxtui bench matmul`"),
        (["bench", "matmull"], "Did you mean matmul?"),
        (["bench", "matmul:0"], '"0" is no size'),
        (["bench", "matmul", "--size", "256.."], '"256.." is no size'),
        (["bench", "matmul", "--size", "-5"], '"-5" is no size'),
        (["bench", "matmul", "--dtype", "flaot32"], "Did you mean float32?"),
        (["bench", "matmul", "--mode", "jti"], "Did you mean jit?"),
        (["bench", "matmul", "--device", "tpu:0"], "there is cpu:0, cpu:1"),
        (["bench", "matmul", "--inputs", "x"], "there is device, host"),
        (["bench", "matmul", "--precision", "x"], "there is default, high, highest"),
        (["bench", "selu", "--precision", "high"], "selu takes only default"),
        (["bench", "matmul", "--budget", "soon"], 'The budget "soon" is no time'),
        (["bench", "matmul", "--target", "5"], "'5' is not one of '10', '3', '1'"),
        (["bench", "matmul", "--nosuch"], "--nosuch"),
        (["bnech"], "Did you mean bench?"),
        (["--cpu-devices", "0", "devices"], "0 is not in the range"),
        (["--hold", "devices"], "--hold and --fps belong to the app"),
    ],
)
def test_a_mistake_gets_one_sentence_and_64(
    capsys, arguments: list[str], sentence: str
) -> None:
    engine = FakeEngine()
    code = run(engine, *arguments)
    out, err = capsys.readouterr()
    assert code == 64
    assert out == ""
    assert err.startswith("jaxtui: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert not engine.asked


@pytest.mark.parametrize("command", [["devices"], ["bench", "matmul", "--json"]])
def test_an_engine_that_fails_is_explained_with_3(capsys, command) -> None:
    failed = EngineFailed(
        reason="held",
        error="The TPU is in use.",
        hint="End that process.",
        holders=(
            Holder(pid=7, user="ada", command="train.py", paths=("/dev/accel0",)),
        ),
    )
    engine = FakeEngine(opening=[failed])
    assert run(engine, *command) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "jaxtui: The TPU is in use. End that process.\n"
        "Held by process 7 of ada (train.py).\n"
    )
    assert engine.closed


def test_an_engine_that_dies_at_the_start_gives_its_last_words_with_3(capsys) -> None:
    died = EngineDied(returncode=-6, error="It was aborted.")
    engine = FakeEngine(opening=[Logged(line="F0000 Check failed"), died])
    assert run(engine, "bench", "matmul") == 3
    assert "F0000 Check failed" in capsys.readouterr().err


def test_an_engine_that_fails_in_a_run_keeps_what_had_arrived(capsys) -> None:
    def fails(experiment: Experiment) -> list[Event]:
        *events, _ = one_fails(experiment)
        return [*events, RunFinished(outcome="crashed", elapsed_seconds=1.0)]

    engine = FakeEngine(answer=fails)
    assert run(engine, "bench", "matmul", "selu", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert len(document["measurements"]) == len(document["failures"]) == 1


def test_a_mistake_of_our_own_gives_70_and_its_traceback(capsys) -> None:
    def wrong(experiment: Experiment) -> list[Event]:
        raise ZeroDivisionError

    engine = FakeEngine(answer=wrong)
    assert run(engine, "bench", "matmul") == 70
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err
    assert err.endswith("jaxtui: This is a mistake in jaxtui, not in what you typed.\n")
    assert engine.closed


def test_a_python_that_is_not_there_gives_3(capsys) -> None:
    assert cli.main(["devices", "--python", "/no/such/python"]) == 3
    assert "/no/such/python" in capsys.readouterr().err


def test_another_python_starts_the_engine(capsys) -> None:
    engine = FakeEngine()
    assert run(engine, "devices", "--python", "ssh 'a box' python3") == 0
    assert engine.options is not None
    assert engine.options.command == (
        *("ssh", "a box", "python3"),
        *("-m", "jaxtui.engine"),
    )


def test_the_app_without_a_terminal_says_what_to_use_instead(capsys) -> None:
    assert cli.main([]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "`jaxtui devices`" in err
    assert "`jaxtui bench matmul`" in err
    assert err.count("\n") == 1


def test_version(capsys) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"jaxtui {cli.__version__}\n"


# The progress line.


def test_the_progress_line_counts_on_between_events() -> None:
    state = EMPTY
    assert progress_line(state, 0.0, 80, ascii_only=True) == "starting JAX, 0 s"
    experiment = Experiment(
        cases=(Case(op="a", size=1, dtype="d", device="cpu:0", mode="jit"),)
    )
    doing = Progress(elapsed_seconds=2.0, remaining_seconds=8.0, doing="compiling a")
    for event in (*began(experiment), doing):
        state = reduce(state, Envelope(generation=1, run=1, event=event))
    line = progress_line(state, 3.0, 80, ascii_only=True)
    assert line == "##########---------- 5 s, at most 5 s left  compiling a"
    assert progress_line(state, 99.0, 80, ascii_only=True).startswith("#" * 20)
    assert len(progress_line(state, 3.0, 30, ascii_only=False)) <= 30


# Real processes.


def jaxtui(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jaxtui", *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        stdin=subprocess.DEVNULL,
        **options,  # type: ignore[call-overload]
    )


def test_real_bench_ends_every_case_as_a_measurement_or_a_named_failure() -> None:
    done = jaxtui(
        *("bench", "matmul:64", "sigmoid:1e3", "--dtype", "float32,int32"),
        *("--mode", "jit,numpy", "--budget", "4", "--json"),
    )
    document = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert len(document["measurements"]) + len(document["failures"]) == 8
    refused = {
        (failure["case"]["op"], failure["case"]["dtype"])
        for failure in document["failures"]
    }
    assert refused == {("sigmoid", "int32")}
    assert all(failure["error"] for failure in document["failures"])
    assert all(one["ready"]["median"] > 0 for one in document["measurements"])
    assert done.stderr == ""


def test_real_simulated_devices_are_marked() -> None:
    done = jaxtui("devices", "--cpu-devices", "3")
    assert done.returncode == 0, done.stderr
    assert "cpu:2" in done.stdout
    assert "SIMULATED" in done.stdout


def test_a_platform_that_is_not_there_gets_a_sentence_with_3() -> None:
    environment = {**os.environ, "JAX_PLATFORMS": "cuda"}
    done = jaxtui("bench", "matmul", "--json", env=environment)
    assert (done.returncode, done.stdout) == (3, "")
    assert "JAX_PLATFORMS" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_quiet() -> None:
    command = f"'{sys.executable}' -m jaxtui ops --json | true"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, timeout=DEADLINE_SECONDS
    )
    assert done.stderr == ""


def test_ascii_output_has_no_traceback() -> None:
    done = jaxtui("ops", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "matmul" in done.stdout


def test_in_a_terminal_there_is_progress_a_table_and_a_plot() -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", "bench", "matmul:64", "--budget", "2"],
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=DEADLINE_SECONDS,
    )
    child.expect("at most")
    child.expect("matmul +64 +float32")
    child.expect("seconds per call")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_ctrl_c_in_a_terminal_leaves_no_engine() -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", "bench", "matmul:256", "--budget", "60", "--target", "1"],
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=DEADLINE_SECONDS,
    )
    child.expect("at most")
    engines = children_of(child.pid)
    child.sendintr()
    child.expect("Interrupted: this is what had arrived.")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert engines
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline and any(map(alive, engines)):
        os.sched_yield()
    assert not any(map(alive, engines))


def children_of(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def alive(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")
