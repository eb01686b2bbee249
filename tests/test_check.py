"""``jaxtui check``: what it prints, its exit codes, and faults that it must find."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pexpect
import pytest

from jaxtui import cli
from jaxtui.commands import check_text
from jaxtui.commands.check_block import block
from jaxtui.commands.check_verdict import closing
from jaxtui.commands.devices import FIELDS
from jaxtui.engine.client import (
    Engine,
    EngineClient,
    EngineOptions,
    EngineUnavailableError,
)
from jaxtui.health import plan
from jaxtui.health.examination import begin, observe
from jaxtui.health.rows import Judged, rows
from jaxtui.health.verdict import judge
from jaxtui.model import (
    CHECK_TESTS,
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckStarted,
    Device,
    Event,
    Expected,
    Finding,
    Logged,
    Reading,
    Ready,
    RunFinished,
    WorkFailed,
)
from tests.test_cli import DEVICES, HOST, OPS, UP, FakeEngine, alive, children_of
from tests.test_cli import jaxtui as command
from tests.tui.fake_engine import tpu_devices

FAULTY = Path(__file__).parent / "engine" / "faulty_engine.py"
DEADLINE_SECONDS = 120
PEAK = Expected(value=200e12, kind="peak", source="the data sheet")

Script = Callable[[Check], Sequence[Event]]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Baselines go to a folder of the test's own."""
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path))
    return tmp_path


def reading(check: Check, device: str, **changes: object) -> Reading:
    facts: dict[str, object] = {
        "test": check.test,
        "device": device,
        "what": f"some {check.test}",
        "unit": "flop/s",
        "measured": 1e11,
    }
    return Reading(**{**facts, **changes})  # type: ignore[arg-type]


def run_of(check: Check, *readings: Reading) -> list[Event]:
    return [
        CheckStarted(check=check),
        CheckDoing(devices=check.devices, what=f"doing {check.test}"),
        *(CheckRead(reading=one) for one in readings),
        *(CheckDone(device=name) for name in check.devices),
        RunFinished(outcome="complete", elapsed_seconds=1.0),
    ]


def sound(check: Check) -> list[Event]:
    return run_of(check, *(reading(check, name) for name in check.devices))


def with_trouble(test: str, device: str, **trouble: object) -> Script:
    """Everything is sound but one reading."""

    def script(check: Check) -> list[Event]:
        readings = [
            reading(check, name, **trouble)
            if (check.test, name) == (test, device)
            else reading(check, name)
            for name in check.devices
        ]
        return run_of(check, *readings)

    return script


def engine(script: Script = sound, opening: Sequence[Event] = UP) -> FakeEngine:
    return FakeEngine(opening, script)  # type: ignore[arg-type]


def run(fake: FakeEngine, *arguments: str) -> int:
    return cli.main(["check", *arguments], engine=fake)


def judged(readings: Sequence[Reading], devices: Sequence[Device]) -> list[Judged]:
    verdicts = judge(readings, devices)
    return [Judged(*pair) for pair in zip(readings, verdicts, strict=True)]


# What it runs, and what it prints.


def test_every_test_is_run_once_on_all_devices_and_its_rows_are_printed(capsys) -> None:
    fake = engine()
    assert run(fake) == 0
    out, err = capsys.readouterr()
    assert [check.test for check in fake.asked] == list(CHECK_TESTS)
    assert {check.devices for check in fake.asked} == {("cpu:0", "cpu:1")}
    assert {check.level for check in fake.asked} == {"quick"}
    assert out.startswith("box · jax 0.12.0\n")
    for test in CHECK_TESTS:
        assert f"\n{test}: pass\n  some {test}  cpu:0-1  100 GFLOP/s\n" in out
    assert "\nVerdict: pass. Everything that was tested works." in out
    assert err == ""
    assert fake.closed


def test_what_has_nothing_to_be_compared_with_is_said_once(capsys) -> None:
    assert run(engine()) == 0
    assert capsys.readouterr().out.count("Nothing to compare") == 1


def test_the_level_and_the_devices_are_those_that_were_asked_for(capsys) -> None:
    fake = engine()
    assert run(fake, "--level", "full", "--devices", "cpu:1") == 0
    assert {check.devices for check in fake.asked} == {("cpu:1",)}
    assert {check.level for check in fake.asked} == {"full"}
    assert "Check of cpu:1, level full:" in capsys.readouterr().out


def test_devices_of_other_processes_are_left_out_with_a_word(capsys) -> None:
    theirs = Device(
        id=9, platform="cpu", device_kind="cpu", process_index=1, addressable=False
    )
    ready = Ready(host=HOST, devices=(*DEVICES, theirs), ops=OPS)
    fake = engine(opening=(UP[0], ready))
    assert run(fake) == 0
    assert {check.devices for check in fake.asked} == {("cpu:0", "cpu:1")}
    assert (
        "Not tested from here: 1 device of 1 other process" in capsys.readouterr().out
    )


def test_json_is_one_document_of_the_contract(capsys) -> None:
    fake = engine(with_trouble("compute", "cpu:1", expected=PEAK))
    assert run(fake, "--json") == 1
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert err == ""
    assert document["schema"] == 1
    assert document["host"]["hostname"] == "box"
    assert [tuple(device) for device in document["devices"]] == [FIELDS, FIELDS]
    assert document["verdict"] == "low"
    assert document["complete"] is True
    assert len(document["tests"]) == 2 * len(CHECK_TESTS)
    (low,) = [one for one in document["tests"] if one["verdict"] != "pass"]
    assert (low["test"], low["device"]) == ("compute", "cpu:1")
    assert (low["measured"], low["expected"], low["unit"]) == (1e11, 2e14, "flop/s")
    assert low["source"] == "the data sheet"
    assert low["reason"]
    assert {"what", "share", "ci_low", "ci_high", "detail"} <= set(low)


def test_findings_about_the_machine_come_first_and_never_into_the_json(capsys) -> None:
    finding = Finding(
        name="hidden-processes",
        severity="info",
        what="3 processes of other users could not be looked into.",
        how="/proc refuses.",
    )
    ready = Ready(host=HOST, devices=DEVICES, ops=OPS, findings=(finding,))
    assert run(engine(opening=(UP[0], ready))) == 0
    out = capsys.readouterr().out
    assert out.index("info: 3 processes of other users") < out.index("present: pass")
    assert run(engine(opening=(UP[0], ready)), "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] == "pass"
    assert "could not be looked into" in err


@pytest.mark.parametrize(
    ("trouble", "word", "code"),
    [
        ({"fault": "It computes wrongly.", "measured": None}, "fail", 2),
        ({"doubt": "Others use half of it."}, "low", 1),
        ({"expected": PEAK, "measured": 150e12}, "pass", 0),
        ({"expected": PEAK, "measured": 50e12}, "low", 1),
        ({"expected": PEAK, "measured": 300e12}, "impossible", 2),
    ],
)
def test_the_exit_code_and_the_last_line_are_the_verdict(
    capsys, trouble: dict[str, object], word: str, code: int
) -> None:
    fake = engine(with_trouble("bandwidth", "cpu:0", **trouble))
    assert run(fake, "--devices", "cpu:0") == code
    out = capsys.readouterr().out
    last = " ".join(out.rpartition("\n\n")[2].split())
    assert last.startswith(f"Verdict: {word}. ")
    if code:
        assert "cpu:0 in bandwidth" in last
        assert f"    {word}: " in out


def test_where_nothing_could_be_tested_it_could_not_run(capsys) -> None:
    def nothing(check: Check) -> list[Event]:
        return run_of(check, reading(check, "cpu:0", measured=None, skipped="Too old."))

    assert run(engine(nothing), "--devices", "cpu:0") == 3
    assert "Verdict: skipped. Nothing could be tested." in capsys.readouterr().out


# Rows.


def product(device: str, rate: float, **changes: object) -> Reading:
    check = Check(test="compute", devices=(device,), budget_seconds=1.0)
    facts = {"what": "matmul 8192 bfloat16", "measured": rate, "expected": PEAK}
    return reading(check, device, **{**facts, **changes})


def test_devices_that_agree_share_a_line_and_the_slow_one_is_named_with_its_place() -> (
    None
):
    devices = tpu_devices()
    figures = [product(one.name, 168e12 + 1e11 * one.id) for one in devices]
    figures[3] = product("tpu:3", 101e12)
    text = block("compute", judged(figures, devices), devices)
    first, together, apart, reason, *_ = text.splitlines()
    assert first == "compute: low"
    assert together.split() == [
        *("matmul", "8192", "bfloat16", "tpu:0-2,", "4-7"),
        *("168-169", "of", "200", "TFLOP/s", "84", "%"),
    ]
    assert apart.split() == [
        *("matmul", "8192", "bfloat16", "tpu:3", "(3,0,0)"),
        *("101", "of", "200", "TFLOP/s", "50", "%"),
    ]
    assert reason.startswith("    low: 101 TFLOP/s, ")


def test_many_devices_with_one_trouble_are_told_in_one_row_that_names_them_all() -> (
    None
):
    devices = tpu_devices()
    faults = [
        product(one.name, 0.0, measured=None, fault=f"{one.name} gave garbage.")
        for one in devices
    ]
    text = block("compute", judged(faults, devices), devices)
    assert text.count("fail:") == 1
    for one in devices:
        assert f"{one.name} (" in text


def test_no_line_is_wider_than_a_terminal_and_nothing_is_lost() -> None:
    devices = tpu_devices()
    long = "host to device, 67108864 bytes at once, pinned, in pieces of 4194304 bytes"
    figures = [
        product(one.name, 50e12 + 1e11 * one.id, what=long, doubt="Why not. " * 20)
        for one in devices[:3]
    ]
    text = block("compute", judged(figures, devices), devices)
    assert max(map(len, text.splitlines())) <= 80
    for word in long.split():
        assert word in text


def test_what_was_left_out_is_one_sentence_for_all_devices() -> None:
    devices = tpu_devices()
    skipped = [
        product(one.name, 0.0, measured=None, skipped=f"{one.name} is too old.")
        for one in devices
    ]
    text = block("compute", judged(skipped, devices), devices)
    assert text.splitlines() == [
        "compute: skipped",
        "  skipped: matmul 8192 bfloat16: tpu:0-7: each is too old.",
    ]


def test_what_copies_nothing_is_one_sentence_for_all_sizes() -> None:
    devices = tpu_devices()[:2]
    said = "Zero-copy: nothing travels."
    nothing = {"measured": None, "expected": None, "said": said}
    copies = [
        product(one.name, 0.0, what=f"to host {size} MiB", **nothing)
        for size in (1, 8, 64)
        for one in devices
    ]
    text = block("compute", judged(copies, devices), devices)
    assert text.splitlines() == [
        "compute: pass",
        f"  to host 1 MiB and 2 more: tpu:0-1: {said}",
    ]


def test_rows_of_the_same_thing_follow_each_other_and_no_sentence_is_told_twice() -> (
    None
):
    devices = tpu_devices()[:4]
    figures = [
        product(one.name, 100e12 if one.id == slow else 170e12, what=what)
        for what, slow in (("matmul a", 0), ("matmul b", 3))
        for one in devices
    ]
    lines = block("compute", judged(figures, devices), devices).splitlines()
    heads = [line.split()[1:3] for line in lines if line.startswith("  matmul")]
    assert heads == [["a", "tpu:1-3"], ["a", "tpu:0"], ["b", "tpu:0-2"], ["b", "tpu:3"]]
    assert " ".join(" ".join(lines).split()).count("Usual causes") == 1


def test_of_a_sound_rate_only_the_remarks_are_printed() -> None:
    devices = tpu_devices()[:1]
    remark = "Other processes used 1.7 of 2 cores."
    found = [product("tpu:0", 170e12, said=f"5.6 ms per call, 12 rounds. {remark}")]
    text = block("compute", judged(found, devices), devices)
    assert text.splitlines()[2:] == [f"    {remark}"]


def test_figures_of_two_magnitudes_and_bounds_keep_their_units() -> None:
    devices = tpu_devices()[:2]
    wide = [product("tpu:0", 999e9, expected=None), product("tpu:1", 1e12)]
    (row,) = rows(judged([wide[0], product("tpu:1", 1e12, expected=None)], devices))
    assert row.figure == "999 GFLOP/s to 1.00 TFLOP/s"
    most = Expected(value=1e-2, kind="most", source="bfloat16 has 8 bits")
    error = product("tpu:0", 2e-3, unit="relative error", expected=most)
    (row,) = rows(judged([error], devices))
    assert row.figure == "2.0e-3, at most 1.0e-2"


def test_colours_are_only_paint() -> None:
    devices = tpu_devices()[:1]
    found = judged([product("tpu:0", 50e12)], devices)
    verdicts = [one.verdict for one in found]
    painted = block("compute", found, devices, colour=True)
    last = closing(verdicts, devices, colour=True)
    assert "\x1b[33mlow\x1b[0m" in painted
    for text, plain in (
        (painted, block("compute", found, devices)),
        (last, closing(verdicts, devices)),
    ):
        assert text.replace("\x1b[33m", "").replace("\x1b[0m", "") == plain


def test_the_progress_line_says_which_test_and_what_it_does() -> None:
    state = begin(DEVICES, "quick")
    for event in sound(state.waiting[0])[:2]:
        state = observe(state, event)
    line = check_text.progress_line(state, 3.0, 79, ascii_only=True)
    assert line == "-" * 20 + " 3 s  test 1 of 9, present: doing present"
    assert len(check_text.progress_line(state, 3.0, 30, ascii_only=False)) == 30


# Mistakes.


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--devices", "cpu:7"], "there is cpu:0, cpu:1"),
        (["--level", "thorough"], 'no level "thorough": there is quick, full'),
        (["--limit", "soon"], 'The limit "soon" is no time'),
        (["--limit", "0"], 'The limit "0" is no time'),
        (["--limit", "2"], "give more than 2 seconds"),
        (["--level", "full", "--limit", "15"], "give more than 60 seconds"),
        (["--baseline", "nosuch"], 'There is no baseline "nosuch"'),
        (["--save-baseline", "../x"], 'A baseline cannot be called "../x"'),
        (["--level"], "--level"),
    ],
)
def test_a_mistake_gets_one_sentence_and_64(
    capsys, arguments: list[str], sentence: str
) -> None:
    fake = engine()
    assert run(fake, *arguments) == 64
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("jaxtui: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert not fake.asked


def test_an_unknown_baseline_is_answered_with_those_that_exist(capsys) -> None:
    assert run(engine(), "--save-baseline", "monday") == 0
    capsys.readouterr()
    assert run(engine(), "--baseline", "mondy") == 64
    assert "there is monday. Did you mean monday?" in capsys.readouterr().err


# Baselines.


def test_a_baseline_is_saved_and_compared_with(capsys) -> None:
    assert run(engine(), "--save-baseline", "new") == 0
    err = capsys.readouterr().err
    assert 'Saved as baseline "new" in ' in err
    assert Path(err.rpartition(" in ")[2].strip().rstrip(".")).is_file()
    assert run(engine(), "--baseline", "new", "--json") == 0
    out, err = capsys.readouterr()
    assert "Compared with the baseline new of " in err
    document = json.loads(out)
    assert document["baseline"] == "new"
    assert {one["share"] for one in document["tests"]} == {1.0}
    slower = engine(with_trouble("compute", "cpu:1", measured=6e10))
    assert run(slower, "--baseline", "new") == 1
    out = capsys.readouterr().out
    assert "60.0 of 100 GFLOP/s" in out
    assert "baseline new" in out


def test_a_few_devices_are_compared_with_a_baseline_of_all(capsys) -> None:
    assert run(engine(), "--save-baseline", "all") == 0
    capsys.readouterr()
    assert run(engine(), "--devices", "cpu:1", "--baseline", "all", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    sources = {one["source"] for one in document["tests"] if one["test"] == "compute"}
    assert any("baseline all" in source for source in sources)


def test_a_baseline_of_other_hardware_is_refused_with_the_difference(capsys) -> None:
    assert run(engine(), "--save-baseline", "two") == 0
    capsys.readouterr()
    ready = Ready(host=HOST, devices=tpu_devices(), ops=OPS)
    fake = engine(opening=(UP[0], ready))
    assert run(fake, "--baseline", "two") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "2 × cpu" in err
    assert "8 × TPU v5 lite" in err
    assert not fake.asked
    assert fake.closed


def test_a_broken_baseline_is_kept_aside(capsys, data: Path) -> None:
    assert run(engine(), "--save-baseline", "mine") == 0
    (file,) = data.rglob("mine.json")
    file.write_text("{", encoding="utf-8")
    capsys.readouterr()
    assert run(engine(), "--baseline", "mine") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "is broken" in err
    assert "moved aside" in err
    assert not file.exists()
    assert list(file.parent.glob("mine.json.*"))


def test_figures_of_a_machine_that_fails_are_no_baseline(capsys, data: Path) -> None:
    failing = with_trouble("compute", "cpu:1", fault="Wrong.", measured=None)
    assert run(engine(failing), "--save-baseline", "bad") == 2
    assert 'Not saved as baseline "bad"' in capsys.readouterr().err
    assert not list(data.rglob("*.json"))
    low = with_trouble("memory", "cpu:1", doubt="Others use it.")
    assert run(engine(low), "--save-baseline", "poor") == 1
    err = capsys.readouterr().err
    assert "Mind that the verdict is low" in err
    assert 'Saved as baseline "poor"' in err


def test_a_baseline_that_cannot_be_written_is_said_with_3(
    capsys, data: Path, monkeypatch
) -> None:
    blocked = data / "a file"
    blocked.touch()
    monkeypatch.setenv("JAXTUI_DATA", str(blocked))
    assert run(engine(), "--save-baseline", "new") == 3
    out, err = capsys.readouterr()
    assert "Verdict: pass" in out
    assert "cannot be" in err
    assert "Traceback" not in err


# Engines that fail, hang or are stopped.


def test_a_test_that_takes_too_long_is_ended_and_the_rest_goes_on(
    capsys, monkeypatch
) -> None:
    monkeypatch.setitem(plan.BUDGETS, "quick", dict.fromkeys(CHECK_TESTS, 0.01))

    def hangs(check: Check) -> list[Event]:
        if check.test != "compute" or "cpu:1" not in check.devices:
            return sound(check)
        return [
            CheckStarted(check=check),
            CheckRead(reading=reading(check, "cpu:0")),
            CheckDoing(devices=("cpu:1",), what="multiplying on cpu:1"),
            CheckDone(device="cpu:0"),
        ]

    fake = engine(hangs)
    assert run(fake, "--limit", "0.05", "--json") == 2
    document = json.loads(capsys.readouterr().out)
    assert fake.stopped == 1
    (failed,) = [one for one in document["tests"] if one["verdict"] == "fail"]
    assert (failed["test"], failed["device"]) == ("compute", "cpu:1")
    assert "cpu:1 did not finish within 50.0 ms" in failed["reason"]
    later = [check for check in fake.asked if check.test == "numerics"]
    assert [check.devices for check in later] == [("cpu:0",)]
    skipped = {
        one["device"] for one in document["tests"] if one["verdict"] == "skipped"
    }
    assert skipped == {"cpu:1"}


def test_an_engine_that_dies_fails_its_test_alone_and_leaves_its_last_words(
    capsys,
) -> None:
    def dies(check: Check) -> list[Event]:
        if check.test != "bandwidth":
            return sound(check)
        return [
            CheckStarted(check=check),
            CheckDoing(devices=check.devices, what="copying"),
            WorkFailed(error="The engine crashed (SIGABRT).", hint=""),
            RunFinished(outcome="crashed", elapsed_seconds=1.0),
        ]

    fake = engine(dies)
    asked = fake.run

    async def says(check: Check) -> int:
        if check.test == "bandwidth":
            fake.say(None, Logged(line="F0000 shape.h:847] Check failed: buffer"))
        return await asked(check)

    fake.run = says  # type: ignore[assignment,method-assign]
    assert run(fake, "--devices", "cpu:0") == 2
    out = capsys.readouterr().out
    assert "    fail: The engine crashed (SIGABRT)." in out
    assert "    | F0000 shape.h:847] Check failed: buffer" in out
    assert [check.test for check in fake.asked] == list(CHECK_TESTS)


def test_an_engine_that_does_not_come_back_is_a_failure_with_what_there_is(
    capsys,
) -> None:
    fake = engine()
    asked = fake.run

    async def refuses(check: Check) -> int:
        if check.test == "numerics":
            raise EngineUnavailableError("The TPU is held by process 7.")
        return await asked(check)

    fake.run = refuses  # type: ignore[assignment,method-assign]
    assert run(fake, "--json") == 2
    document = json.loads(capsys.readouterr().out)
    (failed,) = [one for one in document["tests"] if one["verdict"] == "fail"]
    assert (failed["test"], failed["device"]) == ("numerics", None)
    assert "held by process 7" in failed["reason"]
    skipped = [one["test"] for one in document["tests"] if one["verdict"] == "skipped"]
    assert set(skipped) == {"steady", "together"}


def test_ctrl_c_gives_a_partial_report_and_130(capsys) -> None:
    def interrupted(check: Check) -> list[Event]:
        if check.test != "compute":
            return sound(check)
        os.kill(os.getpid(), signal.SIGINT)
        return [
            CheckStarted(check=check),
            CheckRead(reading=reading(check, "cpu:0")),
        ]

    fake = engine(interrupted)
    assert run(fake, "--json", "--save-baseline", "half") == 130
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert fake.stopped == 1
    assert document["complete"] is False
    assert document["verdict"] == "pass"
    found = [(one["test"], one["device"]) for one in document["tests"]]
    assert found[-1] == ("compute", "cpu:0")
    assert "Interrupted in test 3 of 9, compute" in err
    assert "Saved" not in err
    fake = engine(interrupted)
    assert run(fake) == 130
    out = capsys.readouterr().out
    assert "compute: pass" in out
    assert "\nVerdict of what there is: pass." in out


def test_ctrl_c_before_jax_is_up_ends_at_once(capsys) -> None:
    fake = engine(opening=())
    starting = fake.start

    async def start() -> None:
        await starting()
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)

    fake.start = start  # type: ignore[method-assign]
    assert run(fake, "--json") == 130
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["host"], document["tests"]) == (None, [])
    assert document["verdict"] == "skipped"
    assert "Interrupted before the first test." in err
    assert fake.closed


# Real engines, sound and faulty.


def faulty(
    fault: str, device: str, test: str = "", cpu_devices: int = 2
) -> Callable[..., Engine]:
    """Makes engines with a planted fault, simulated devices and short tests."""

    def factory(options: EngineOptions) -> Engine:
        options = EngineOptions(
            command=(sys.executable, str(FAULTY)),
            cpu_devices=cpu_devices,
            environment={
                "FAULT": fault,
                "FAULT_DEVICE": device,
                "FAULT_TEST": test,
                "FAULT_SHARE": "0.3",
            },
        )
        return EngineClient(options)

    return factory


def found(
    capsys, code: int, factory: Callable[..., Engine], *arguments: str
) -> list[dict[str, object]]:
    """The rows of a whole check; afterwards no process is left."""
    before = children_of(os.getpid())
    assert cli.main(["check", "--json", *arguments], engine=factory) == code
    assert children_of(os.getpid()) == before
    document = json.loads(capsys.readouterr().out)
    assert document["complete"] is True
    assert {one["test"] for one in document["tests"]} == set(CHECK_TESTS)
    return document["tests"]


def places(rows: Sequence[dict[str, object]], word: str) -> set[tuple[object, object]]:
    return {(one["test"], one["device"]) for one in rows if one["verdict"] == word}


def test_real_check_of_one_device_is_complete() -> None:
    done = command("check", "--json", "--cpu-devices", "1")
    document = json.loads(done.stdout)
    failed = [one for one in document["tests"] if one["verdict"] not in ("pass", "low")]
    assert {one["test"] for one in document["tests"]} == set(CHECK_TESTS)
    assert {one["verdict"] for one in failed} <= {"skipped"}, failed
    assert done.returncode in (0, 1), done.stderr
    assert document["verdict"] == ("pass", "low")[done.returncode]


def test_a_wrong_result_on_one_device_is_a_failure_of_that_device(capsys) -> None:
    # Of two devices that disagree nobody could say which is wrong.
    wrong = found(capsys, 2, faulty("wrong", "cpu:1", cpu_devices=4))
    assert ("numerics", "cpu:1") in places(wrong, "fail")
    assert {device for _, device in places(wrong, "fail")} == {"cpu:1"}


def test_a_slow_device_is_low_and_named_as_the_straggler(capsys) -> None:
    slow = found(capsys, 1, faulty("slow", "cpu:1", cpu_devices=4))
    assert ("compute", "cpu:1") in places(slow, "low")
    assert not places(slow, "fail")
    reasons = [str(one["reason"]) for one in slow if one["test"] == "compute"]
    assert any("cpu:1 is " in reason for reason in reasons)
    # Nothing is expected of how far it lags: the others wait for the same cores.
    (race,) = [
        one for one in slow if (one["test"], one["device"]) == ("together", None)
    ]
    assert "cpu:1 took " in str(race["reason"])


def test_a_device_that_never_returns_fails_within_the_limit(capsys) -> None:
    hung = found(capsys, 2, faulty("hang", "cpu:1", "compute"), "--limit", "15")
    assert places(hung, "fail") == {("compute", "cpu:1")}
    (row,) = [one for one in hung if one["verdict"] == "fail"]
    assert "cpu:1 did not finish within 15.0 s" in str(row["reason"])


def test_an_op_that_aborts_the_engine_fails_its_test_and_the_rest_goes_on(
    capsys,
) -> None:
    died = found(capsys, 2, faulty("abort", "cpu:1", "bandwidth"), "--devices", "cpu:1")
    assert places(died, "fail") == {("bandwidth", "cpu:1")}
    (row,) = [one for one in died if one["verdict"] == "fail"]
    assert "crashed (SIGABRT)" in str(row["reason"])
    assert "Check failed: buffer != nullptr" in str(row["detail"])


def test_ctrl_c_in_a_terminal_prints_what_there_is_and_leaves_no_engine() -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "jaxtui", "check", "--cpu-devices", "2"],
        encoding="utf-8",
        dimensions=(40, 80),
        timeout=DEADLINE_SECONDS,
    )
    child.expect("starting JAX, ")
    child.expect("present: ")
    child.expect("test 3 of 9, compute: ")
    engines = children_of(child.pid)
    child.sendintr()
    child.expect("Verdict of what there is: ")
    child.expect("Interrupted in test ")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert engines
    assert not any(map(alive, engines))
