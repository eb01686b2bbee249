"""The list of measurements and one of them, as lines."""

from __future__ import annotations

from typing import Any

import pytest

from jaxtui.core.history.store import Entry, Page, Row
from jaxtui.features.history import report as history
from jaxtui.ui.report import Rows, fitting, written
from tests.core.history.making import DEVICE, HOST, measurement

NOON = 1_790_000_000.0
OWN = "/home/somebody/models/training.py:train_step"


def row(hostname: str = "box", **changes: Any) -> Row:
    """Of a matrix product on a CPU."""
    of_case = {"op": "matmul", "size": 256, "dtype": "float32", "mode": "jit"}
    where = {"device": "cpu:0", "device_kind": "cpu", "inputs": "device"}
    figures = {"ready": 0.002, "ci_low": 0.0019, "ci_high": 0.0021}
    figures["confidence"] = 0.99
    rates = {"flops_per_second": 1e12, "bytes_per_second": 1e9}
    facts = {**of_case, **where, **figures, **rates, **changes}
    return Row(
        id=1, at=NOON, hostname=hostname, precision="default", params=None, **facts
    )


ROWS = (
    row(),
    row(op="selu", size=10**6, ready=12e-6, flops_per_second=None),
    row(op=OWN, ready=0.3, device="host", mode="numpy", hostname="v7"),
)


@pytest.mark.parametrize(
    ("width", "names"),
    [
        (110, "when op size dtype device mode ready interval rate host"),
        (90, "when op size dtype device mode ready interval host"),
        (76, "when op size dtype device mode ready host"),
        (66, "when op size dtype device mode ready"),
        (61, "when op size dtype mode ready"),
        (49, "when op size mode ready"),
        (41, "op size mode ready"),
        (34, "op size ready"),
    ],
)
def test_columns_that_matter_least_go_first(width: int, names: str) -> None:
    table = Rows(history.columns(ROWS), gap=1)
    heads = [column.head.split()[0] for column, _ in fitting(table.columns, width, 1)]
    assert heads == names.replace("rate", "pipelined").split()
    lines = written(table, width).split("\n")[1:]
    assert len(lines) == len(ROWS)
    assert max(map(len, lines)) <= width
    # Of a function's name the end tells most.
    assert "train_step"[-6:] in lines[2]


FAST = row(op="selu", ready=12e-6, ci_low=11.9e-6, ci_high=12.2e-6)
LISTS = {
    "columns that fit": ROWS,
    "one unit, a vague one and a single round": (
        row(),
        row(ready=0.016, ci_low=0.006, ci_high=0.03),
        row(ready=0.003, confidence=0.0),
    ),
    "too far apart for one unit": (row(), FAST, row(flops_per_second=None)),
    "no figure": (row(ready=None),),
    "known to within a third, or not": tuple(
        row(ci_low=1e-3, ci_high=high) for high in (1.9e-3, 2.1e-3)
    ),
}
ENTRIES = [
    Entry(
        id=3,
        at=NOON,
        host=HOST,
        device=DEVICE,
        measurement=measurement(median=1e-3, width=width),
    )
    for width in (0.0002, 0.0004)
]


def test_what_is_missing_from_the_list_is_a_remark() -> None:
    page = Page(rows=ROWS[:1], unreadable=2, count=9)
    damaged, more = history.listing(page).notes
    assert damaged.level == "warning"
    assert damaged.text == "Cannot read 2 rows of the history."
    assert "newest 1 of 9" in more.text
