"""``jaxtui schema``: the JSON Schema of what ``--json`` prints."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import click
import msgspec

from jaxtui.commands import FINE
from jaxtui.commands.terminal import put
from jaxtui.document import (
    CheckResults,
    Devices,
    LessonResults,
    Lessons,
    Results,
)
from jaxtui.model import Case, Failure, Host, OpInfo
from jaxtui.model.ahead import Compiled
from jaxtui.model.programs import Inspected
from jaxtui.view import compare, crossover, history, roofline

Field = tuple[str, Any]


def _fields(
    record: type[msgspec.Struct], *, but: Collection[str] = (), absent: bool = False
) -> list[Field]:
    """The fields of a record as those of a document; ``absent`` ones may be null."""
    return [
        (one.name, one.type | None if absent else one.type)
        for one in msgspec.structs.fields(record)
        if one.name not in but
    ]


def _document(name: str, *fields: Field) -> type[msgspec.Struct]:
    return msgspec.defstruct(
        name, [("schema", int), *fields], forbid_unknown_fields=True
    )


_CLOCKS = ("warm_up", "trace", "lower", "compile")
_TOPOLOGY = msgspec.defstruct(
    "TopologyRow",
    [
        ("asked", str),
        ("name", str),
        ("options", dict[str, Any]),
        *((name, int | None) for name in ("devices", "chips", "processes")),
    ],
)

DOCUMENTS: dict[str, tuple[Any, ...]] = {
    "devices": (Devices,),
    "ops": (_document("Ops", ("ops", tuple[OpInfo, ...])),),
    "bench": (Results,),
    "crossover": (crossover.Document,),
    "roofline": (roofline.Document,),
    "check": (CheckResults,),
    "compile": (
        _document(
            "Compilation",
            ("case", Case | None),
            ("topology", _TOPOLOGY),
            *((name, str | None) for name in ("device_kind", "libtpu", "jax")),
            *((f"{stage}_seconds", float | None) for stage in _CLOCKS),
            *_fields(
                Compiled,
                but={"case", "device_kind", *(f"{one}_seconds" for one in _CLOCKS)},
                absent=True,
            ),
            ("source", str | None),
            ("failure", Failure | None),
        ),
    ),
    "hlo": (
        _document(
            "Inspection",
            ("host", Host | None),
            *_fields(Inspected, absent=True),
            ("eager_kernels", int | None),
            ("failure", Failure | None),
        ),
    ),
    "learn": (Lessons, LessonResults),
    "history": (history.Document,),
    "compare": (compare.Pairs,),
}
"""The documents of each command; a lesson has one and the list of lessons another."""


def schema(command: str) -> dict[str, Any]:
    """The JSON Schema of what a command prints with ``--json``."""
    kinds, parts = msgspec.json.schema_components(
        DOCUMENTS[command], ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"jaxtui {command} --json",
        **(kinds[0] if len(kinds) == 1 else {"anyOf": list(kinds)}),
        "$defs": parts,
    }


@click.command("schema")
@click.argument("name", required=False, metavar="[COMMAND]")
def command(name: str | None) -> int:
    """Print the JSON Schema of the document of a COMMAND, or of each."""
    if name is not None and name not in DOCUMENTS:
        known = ", ".join(DOCUMENTS)
        raise click.UsageError(f'"{name}" prints no document: {known} do.')
    found = schema(name) if name else {one: schema(one) for one in DOCUMENTS}
    put(msgspec.json.format(msgspec.json.encode(found)).decode())
    return FINE
