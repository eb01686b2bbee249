"""``jaxtui schema`` describes the documents that the commands print."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from jaxtui import cli
from jaxtui.registry import COMMANDS
from jaxtui.ui.commands.schema import DOCUMENTS
from tests.processes import ended
from tests.ui.commands.fakes import in_process, run

GOLDEN = Path(__file__).parents[2] / "golden" / "documents"
PRINTED = [one for one in GOLDEN.glob("*.json") if one.stem != "bench_history"]
"""Without what a run has left in the history."""


@pytest.mark.parametrize("path", sorted(PRINTED), ids=lambda path: path.stem)
def test_a_printed_document_is_what_its_schema_says(path: Path) -> None:
    text = path.read_bytes()
    kinds = DOCUMENTS[path.stem.removeprefix("readme_").partition("_")[0]]
    assert any(fits(text, kind) for kind in kinds)


def fits(text: bytes, kind: Any) -> bool:
    """Nothing is missing, and there is nothing besides."""
    try:
        decoded = msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError:
        return False
    return bool(json.loads(msgspec.json.encode(decoded)) == json.loads(text))


def test_every_command_with_a_document_has_a_schema() -> None:
    context = click.Context(cli.cli)
    found = {name: cli.cli.get_command(context, name) for name in COMMANDS}
    with_json = {
        name
        for name, command in found.items()
        if command and any("--json" in option.opts for option in command.params)
    }
    assert with_json == set(DOCUMENTS)


def test_it_prints_one_or_all() -> None:
    assert ended("schema").stdout.split() == [*DOCUMENTS]
    bench = json.loads(ended("schema", "bench").stdout)
    assert bench["anyOf"][0]["$ref"] == "#/$defs/Results"
    assert "measurements" in bench["$defs"]["Results"]["properties"]
    learn = json.loads(ended("schema", "learn").stdout)
    assert len(learn["anyOf"]) == 2


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("ops", 0),
        ("hlo selu:64 --stage jaxpr", 0),
        ("hlo mine.py:wrong --arg f32[2,3]", 1),
        ("hlo matmul:64 --topology v5e:2x4", 0),
        ("hlo mine.py:wrong --arg f32[2,3] --topology v5e:2x4", 1),
    ],
    ids=lambda typed: str(typed)[:24],
)
def test_so_is_one_of_an_answer_or_a_failure(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    code: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def wrong(x):\n    return x @ x\n")
    assert run(in_process(), *shlex.split(typed), "--json") == code
    out = capsys.readouterr().out.encode()
    assert any(fits(out, kind) for kind in DOCUMENTS[typed.split()[0]])
