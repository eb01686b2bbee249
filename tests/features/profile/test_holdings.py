"""Device memory by the line that made it."""

from __future__ import annotations

import gzip
from pathlib import Path

import jax.numpy as jnp
import pytest

from jaxtui.features.profile.measure import holdings
from tests.tasks.spaces import message


def make() -> object:
    return jnp.ones((300, 1000)) + 1.0  # made here


def test_an_array_is_held_by_the_line_that_made_it() -> None:
    array = make()
    file = Path(__file__)
    file.read_text().splitlines()
    line = 1 + next(
        at
        for at, text in enumerate(file.read_text().splitlines())
        if "made here" in text
    )
    found = {(each.frame.file, each.frame.line): each for each in holdings.now()}
    held = found[str(file), line]
    assert (held.count, held.bytes) == (1, 1_200_000)
    assert held.frame.function.endswith("make")
    del array
    gone = {(each.frame.file, each.frame.line) for each in holdings.now()}
    assert (str(file), line) not in gone


@pytest.mark.parametrize(
    "text",
    [
        b"no message at all",
        message((5, message((1, 1), (2, 9)))),  # a text that is missing
        message((2, message((1, 7), (2, 1), (2, 2)))),
    ],
)
def test_another_format_holds_nothing(text: bytes) -> None:
    assert holdings.read(gzip.compress(text)) == ()
    assert holdings.read(text) == ()
