"""What is said of an op that was compiled for a TPU that is not here."""

from __future__ import annotations

from typing import Any

import pytest

from jaxtui.model.ahead import Topology
from jaxtui.view import ahead
from jaxtui.view.ahead import Document, TopologyRow
from jaxtui.view.document import SCHEMA
from tests.fake_engine import tpu_devices
from tests.records import case

TOPOLOGY = Topology(name="v5e:2x4")
ROW = TopologyRow(
    asked="v5e-8", name="v5e:2x4", options={}, devices=8, chips=8, processes=1
)
COMPILED = {"bytes": 1e6, "kernels": 2, "instructions": {"fusion": 2}}


def document(**facts: Any) -> Document:
    known = {"schema": SCHEMA, "case": case(device="tpu:0"), "topology": ROW}
    return Document(**dict.fromkeys(Document.__struct_fields__) | known | facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "said", "unsaid"),
    [
        (COMPILED, "program: 2 kernels: 2 fusion (--hlo prints it)", "HloModule"),
        (COMPILED | {"hlo": "HloModule x"}, "HloModule x", "--hlo"),
        (COMPILED | {"kernels": None}, "program: ", "--hlo"),
        # Before XLA has come to an end there is no program and no bound.
        ({"trace_seconds": 1e-3}, "trace", "program"),
    ],
)
def test_the_hlo_is_printed_or_said_to_be_there(
    facts: dict[str, Any], said: str, unsaid: str
) -> None:
    text = ahead.text(document(**facts), TOPOLOGY, tpu_devices())
    assert " of v5e-8\nv5e:2x4: " in text
    assert said in text
    assert unsaid not in text
