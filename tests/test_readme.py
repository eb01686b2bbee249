"""What the README says about commands, options, keys and ops is what the code does.

``python tests/test_readme.py`` writes the tables anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from jaxtui import cli, commands
from jaxtui.measure.ops import catalogue
from jaxtui.model import DTYPES
from jaxtui.tui.command import Command
from jaxtui.tui.screens.help import EVERYWHERE, sections

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


NAMES = {
    "question_mark": "?",
    "colon": ":",
    "comma": ",",
    "full_stop": ".",
    "slash": "/",
    "plus": "+",
    "equals_sign": "=",
    "minus": "-",
    "enter": "Enter",
    "escape": "Esc",
    "space": "Space",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "backslash": "\\",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
}
"""What is printed on a keyboard, by Textual's names."""


def rows(*lines: tuple[str, ...]) -> str:
    head, *rest = lines
    rule = tuple("---" for _ in head)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rest))


def keys() -> str:
    """A table for each place, as the help has them."""
    return "\n\n".join(
        f"**{place}**\n\n" + rows(("key", "does"), *map(key_row, found))
        for place, found in sections(EVERYWHERE).items()
    )


def key_row(command: Command) -> tuple[str, str]:
    return key_names(command.keys), command.description


def key_names(keys: str) -> str:
    return ", ".join(f"`{key_name(key)}`" for key in keys.split(","))


def key_name(key: str) -> str:
    """A key as it is printed on a keyboard."""
    if re.fullmatch(r"f\d+", key):
        return key.upper()
    before, plus, last = key.rpartition("+")
    return (
        before.replace("ctrl", "Ctrl") + plus.replace("+", "-") + NAMES.get(last, last)
    )


def options() -> str:
    lines = [
        (f"`{' '.join(part for part in call if part)}`", takes, option.help or "")
        for option, takes, call in every_option()
    ]
    return rows(("option", "of", "meaning"), *dict.fromkeys(lines))


def every_option() -> Iterator[tuple[click.Option, str, tuple[str, str]]]:
    commands = {"jaxtui": cli.cli, **cli.cli.commands}
    known: dict[tuple[str, str | None], list[str]] = {}
    for name, command in commands.items():
        for option in command.params:
            if isinstance(option, click.Option):
                known.setdefault(told(option), []).append(name)
    for command in commands.values():
        for option in command.params:
            if isinstance(option, click.Option):
                of = known[told(option)]
                where = "all" if len(of) == len(commands) else ", ".join(of)
                call = (option.opts[-1], option.metavar or "")
                yield option, where, call


def told(option: click.Option) -> tuple[str, str | None]:
    """What makes an option one line: its name, and what it says of itself."""
    return option.opts[-1], option.help


def ops() -> str:
    lines = (
        (
            f"`{op.name}`",
            op.summary.rstrip("."),
            op.size_means,
            op.flops,
            "all" if op.dtypes == DTYPES else ", ".join(op.dtypes),
        )
        for op in catalogue()
    )
    return rows(("op", "is", "size", "flops", "dtypes"), *lines)


TABLES = {"keys": keys, "options": options, "ops": ops}


def section(name: str, text: str) -> str:
    match = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", text, re.DOTALL)
    assert match, name
    return match[1].strip()


def command(name: str) -> str:
    """The shell line under ``<!-- NAME command -->``."""
    text = README.read_text(encoding="utf-8")
    match = re.search(rf"<!-- {name} command -->\n```sh\n(.*)\n```", text)
    assert match, name
    return match[1]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_what_the_code_does(name: str) -> None:
    text = README.read_text(encoding="utf-8")
    assert section(name, text) == TABLES[name](), "run python tests/test_readme.py"


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
        commands.FINE,
        commands.CASE_FAILED,
        commands.CHECK_FAILED,
        commands.CANNOT_RUN,
        commands.USAGE,
        commands.INTERNAL,
        commands.INTERRUPTED,
    }


def test_every_command_is_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    for name in cli.cli.commands:
        assert re.search(rf"^jaxtui {name} ", text, re.MULTILINE)


def test_every_option_has_help() -> None:
    assert all(option.help for option, _, _ in every_option())


def rewritten(text: str) -> str:
    """The README with its tables made anew."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}{table()}\n{end}{rest.split(end, 1)[1]}"
    return text


if __name__ == "__main__":
    README.write_text(rewritten(README.read_text(encoding="utf-8")), encoding="utf-8")
