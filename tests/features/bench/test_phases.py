"""Every clock has a row; the longer a clock, the longer its bar."""

from __future__ import annotations

import msgspec

from jaxtui.core.model import Phases
from jaxtui.features.bench.phases import LABELS, bars
from jaxtui.ui.text import plain
from tests.fake_engine import summary

PHASES = Phases(
    transfer=1.3e-3,
    trace=0.9e-3,
    lower=3.1e-3,
    compile=0.344,
    first_call=1.1e-3,
    fetch=18e-3,
)


def draw(width: int = 48, phases: Phases = PHASES, **options) -> dict[str, str]:
    lines = bars(phases, summary(56e-6), summary(812e-6), 0.79e-3, width, **options)
    return dict(zip(LABELS, map(plain, lines), strict=True))


def length(line: str) -> int:
    return sum(line.count(char) for char in "▏▎▍▌▋▊▉█#")


def test_a_row_per_clock_with_its_value():
    rows = draw()
    assert [row[:10].strip() for row in rows.values()] == list(LABELS)
    # Too far apart for one unit: points and units in line.
    for label, value in (
        ("transfer", "  1.30 ms"),
        ("compile", "344    ms"),
        ("dispatch", " 56.0  µs"),
        ("ready", "812    µs"),
    ):
        assert rows[label][-9:] == value
    for width in range(1, 100, 7):
        assert max(map(len, draw(width).values())) <= width


def test_digits_that_the_interval_does_not_support_stand_apart():
    wide = msgspec.structs.replace(summary(812e-6), ci_low=700e-6, ci_high=900e-6)
    ready = bars(PHASES, None, wide, None, 48)[LABELS.index("ready")]
    roles = [(span.text, span.role) for span in ready if span.role != "label"]
    assert ("0.81", "value") in roles
    assert ("2", "unknown") in roles


def test_bars_are_in_the_order_of_the_clocks():
    rows = draw()
    order = ["dispatch", "ready", "lower", "fetch", "compile"]
    lengths = [length(rows[label]) for label in order]
    assert lengths == sorted(lengths)
    assert lengths[0] >= 1
    assert lengths[-1] > 3 * lengths[0]


def test_absent_clocks_are_dashes_without_a_bar():
    lines = bars(Phases(transfer=1e-3), None, summary(1e-3), None, 48)
    rows = dict(zip(LABELS, lines, strict=True))
    for label in ("compile", "dispatch", "pipelined", "fetch"):
        assert plain(rows[label]).endswith(" —")
        assert rows[label][-1].role == "muted"
        assert length(plain(rows[label])) == 0
    empty = bars(Phases(), None, None, None, 40)
    assert all(plain(line).endswith("—") for line in empty)
    assert draw(zero_copy=True)["transfer"].split() == ["transfer", "zero-copy"]
