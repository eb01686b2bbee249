"""``jaxtui schema`` describes the documents that the commands print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner

from jaxtui import cli
from jaxtui.commands.schema import DOCUMENTS

GOLDEN = Path(__file__).parents[1] / "golden" / "documents"
PRINTED = [one for one in GOLDEN.glob("*.json") if one.stem != "bench_history"]
"""Without what a run has left in the history."""


@pytest.mark.parametrize("path", sorted(PRINTED), ids=lambda path: path.stem)
def test_a_printed_document_is_what_its_schema_says(path: Path) -> None:
    text = path.read_bytes()
    kinds = DOCUMENTS[path.stem.partition("_")[0]]
    assert any(fits(text, kind) for kind in kinds)


def fits(text: bytes, kind: Any) -> bool:
    """Nothing is missing, and there is nothing besides."""
    try:
        decoded = msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError:
        return False
    return bool(json.loads(msgspec.json.encode(decoded)) == json.loads(text))


def command(name: str) -> click.Command:
    found = cli.cli.get_command(click.Context(cli.cli), name)
    assert found is not None
    return found


def test_every_command_with_a_document_has_a_schema() -> None:
    with_json = {
        name
        for name in cli.COMMANDS
        if any("--json" in option.opts for option in command(name).params)
    }
    assert with_json == set(DOCUMENTS)


def test_it_prints_one_or_all_and_refuses_what_has_none() -> None:
    def schema(*words: str) -> Any:
        done = CliRunner().invoke(cli.cli, ["schema", *words], standalone_mode=False)
        assert done.exception is None, done.output
        return json.loads(done.stdout)

    assert set(schema()) == set(DOCUMENTS)
    bench = schema("bench")
    assert bench["$ref"] == "#/$defs/Results"
    assert "measurements" in bench["$defs"]["Results"]["properties"]
    assert len(schema("learn")["anyOf"]) == 2
    with pytest.raises(click.UsageError, match="prints no document"):
        cli.cli.main(["schema", "nonsense"], standalone_mode=False)
