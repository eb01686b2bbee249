"""What the README says about commands, exit codes and extras is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import click

from jaxtui import cli
from jaxtui.features.check.judge import EXIT_CODES
from jaxtui.ui import commands

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def command(name: str) -> str:
    """The shell line under ``<!-- NAME command -->``."""
    text = README.read_text(encoding="utf-8")
    match = re.search(rf"<!-- {name} command -->\n```sh\n(.*)\n```", text)
    assert match, name
    return match[1]


def test_the_two_commands_are_there_once_and_need_only_python() -> None:
    assert command("run").startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert command("test").endswith("&& .venv/bin/pytest")


def test_ci_runs_the_test_command_of_the_readme_itself() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "<!-- test command -->" in script
    assert 'bash -euo pipefail -c "$test_command"' in script
    assert "pytest" not in script


def test_every_extra_that_the_readme_names_exists() -> None:
    text = README.read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    named = set(re.findall(r"\.\[(\w+)\]", text))
    assert named == {"tpu", "cuda12", "cuda13", "test", "topology"}
    for extra in named:
        assert re.search(rf"^{extra} = \[", project, re.MULTILINE)


def test_every_exit_code_is_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert codes == {
        *EXIT_CODES.values(),
        commands.FINE,
        commands.CASE_FAILED,
        commands.CANNOT_RUN,
        commands.SLOWER,
        commands.UNDECIDED,
        commands.USAGE,
        commands.INTERNAL,
        commands.INTERRUPTED,
    }


def test_every_command_is_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    for name in cli.COMMANDS:
        assert re.search(rf"^jaxtui {name} ", text, re.MULTILINE)


def test_every_command_and_every_option_has_help() -> None:
    commands = (cli.cli.get_command(click.Context(cli.cli), x) for x in cli.COMMANDS)
    for one in (cli.cli, *commands):
        assert one is not None
        assert one.help
        for option in one.params:
            assert not isinstance(option, click.Option) or option.help


def test_pictures_and_links_are_there() -> None:
    text = README.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target
