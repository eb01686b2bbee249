"""``jaxtui check``: what it runs, what it prints, and mistakes."""

from __future__ import annotations

import json

import pytest

from jaxtui.analysis.examination import begin
from jaxtui.commands.check_report import progress_line
from jaxtui.document import DEVICE_FIELDS
from jaxtui.model import CHECK_TESTS, Check, Device, Event, Finding, Ready
from tests.commands.checking import (
    PEAK,
    engine,
    reading,
    run,
    run_of,
    sound,
    with_trouble,
)
from tests.commands.fakes import DEVICES, HOST, OPS, UP


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
    assert [tuple(device) for device in document["devices"]] == [DEVICE_FIELDS] * 2
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


def test_the_progress_line_says_which_test_and_what_it_does() -> None:
    exam = begin(DEVICES, "quick")
    for event in sound(exam.waiting[0])[:2]:
        exam = exam.observe(event)
    line = progress_line(exam, 3.0, 79, ascii_only=True)
    assert line == "-" * 20 + " 3 s  test 1 of 9, present: doing present"
    assert len(progress_line(exam, 3.0, 30, ascii_only=False)) == 30
