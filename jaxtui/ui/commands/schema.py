"""``jaxtui schema``: the JSON Schema of what ``--json`` prints."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from jaxtui.core.model.remark import SelectionError
from jaxtui.registry import part
from jaxtui.ui.commands import FINE
from jaxtui.ui.commands.common import named
from jaxtui.ui.commands.terminal import print_stdout

DOCUMENTS: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "audit": (part("audit", "report").AuditDocument,),
    "devices": (part("devices", "messages").Devices,),
    "ops": (part("bench", "ops").Ops,),
    "bench": (part("bench", "messages").Results, part("bench", "comparison").Turns),
    "crossover": (part("crossover", "report").OUTCOME.document,),
    "roofline": (part("roofline", "report").OUTCOME.document,),
    "links": (part("links", "report").OUTCOME.document,),
    "check": (part("check", "report").OUTCOME.document,),
    "hlo": (part("program", "report").Stages,),
    "profile": (part("profile", "report.document").ProfileDocument,),
    "lie": (part("bench", "stopwatch").Stopwatch,),
    "learn": (
        part("lessons", "messages").Lessons,
        part("lessons", "messages").LessonResults,
    ),
    "history": (part("history", "report").Listed,),
    "compare": (part("bench", "comparison").Pairs,),
}
"""The documents of each command; a lesson has one and the list of lessons another,
and so do one Python and two."""


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


@named("schema", "jaxtui schema", "jaxtui schema bench")
@click.argument("name", required=False, metavar="[COMMAND]")
def command(name: str | None) -> int:
    """Print the JSON Schema of a command's document.

    Without a command, list those that print one.
    """
    if name is None:
        for document in DOCUMENTS:
            print_stdout(document)
        return FINE
    if name not in DOCUMENTS:
        choices = ", ".join(DOCUMENTS)
        raise SelectionError(f'"{name}" prints no document: choose one of {choices}.')
    print_stdout(msgspec.json.format(msgspec.json.encode(schema(name))).decode())
    return FINE
