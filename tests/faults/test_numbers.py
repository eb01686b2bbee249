"""Options that take a number refuse what is none."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.faults.running import LIMIT_SECONDS, PROGRAM

OPTIONS = (
    "--fps",
    "--start-limit",
    "--cpu-devices",
    "bench selu --budget",
    "bench selu --target",
    "bench selu --seed",
    "bench selu --size",
    "crossover selu --budget",
    "crossover selu --sizes",
    "roofline selu --budget",
    "check --limit",
    "compile selu --topology v5e:2x2 --limit",
    "learn clock --step",
    "learn clock --size",
    "history --limit",
)


def assert_is_refused(*arguments: str, **environment: str) -> None:
    done = subprocess.run(
        [*PROGRAM, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        timeout=LIMIT_SECONDS,
    )
    assert (done.returncode, done.stdout) == (64, ""), done
    assert done.stderr.startswith("jaxtui: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", OPTIONS)
def test_nan_is_refused(option: str) -> None:
    assert_is_refused(*option.split(), "nan")


@pytest.mark.parametrize("option", ["--start-limit", "bench selu --budget"])
def test_infinity_is_refused(option: str) -> None:
    assert_is_refused(*option.split(), "1e999")


def test_the_environment_gives_numbers_too() -> None:
    assert_is_refused("devices", JAXTUI_START_LIMIT="nan")
    assert_is_refused(JAXTUI_START_LIMIT="inf")
