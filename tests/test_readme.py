"""What the README and its pages say about jaxtui is what there is."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import click
import pytest

from jaxtui import cli
from jaxtui.features.check.judge import EXIT_CODES
from jaxtui.registry import COMMANDS
from jaxtui.ui import commands

ROOT = Path(__file__).parent.parent
README, METHOD = ROOT / "README.md", ROOT / ".github" / "METHOD.md"
PAGES = [README, *sorted((ROOT / ".github").glob("*.md"))]
PRINTED = {
    document.partition("\n")[0]: document.partition("\n--- stderr")[0].splitlines()
    for document in (
        path.read_text(encoding="utf-8")
        for path in (ROOT / "tests" / "golden" / "documents").glob("readme_*.txt")
    )
}
"""The lines of each recorded run, its command first, as ``tests/golden`` checks it."""


LAUNCHED = "(?:srun |mpirun -n 4 )?"


def command(name: str) -> str:
    """The shell line under ``<!-- NAME command -->``."""
    text = README.read_text(encoding="utf-8")
    match = re.search(rf"<!-- {name} command -->\n```sh\n(.*)\n```", text)
    assert match, name
    return match[1]


def typed(page: Path) -> list[str]:
    """The arguments of each command of jaxtui that a page shows."""
    text = page.read_text(encoding="utf-8")
    code = re.findall(rf"(?<!`)`{LAUNCHED}(jaxtui(?: [^`]*)?)`(?!`)", text)
    for block in re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL):
        code += re.findall(rf"^(?:\$ )?{LAUNCHED}(jaxtui .*)", block, re.M)
    return [line.removeprefix("jaxtui").partition(" > ")[0] for line in code]


def test_the_two_commands_are_there_once_and_need_only_python() -> None:
    assert command("run").startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert command("test").endswith("&& .venv/bin/pytest")


def test_ci_runs_the_test_command_of_the_readme_itself() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "<!-- test command -->" in script
    assert 'bash -euo pipefail -c "$test_command"' in script
    assert "pytest" not in script


def test_every_output_is_that_of_a_recorded_run() -> None:
    """Or its first lines; ``JAXTUI_GOLDEN=write`` writes as many lines again."""

    def printed(block: re.Match[str]) -> str:
        shown = block[1].splitlines()
        return "\n".join(["```console", *PRINTED[shown[0]][: len(shown)], "```"])

    text = README.read_text(encoding="utf-8")
    now = re.sub(r"```console\n(.*?)\n```", printed, text, flags=re.DOTALL)
    if os.environ.get("JAXTUI_GOLDEN") == "write":
        README.write_text(now, encoding="utf-8")
    assert now == README.read_text(encoding="utf-8")


def test_what_goes_wrong_is_said_so() -> None:
    rows = re.findall(r"^\| \*([^*]*)\*[^|]* \| [A-Z]", README.read_text("utf-8"), re.M)
    files = [*ROOT.glob("jaxtui/**/*words.py")]
    files += ROOT.glob("tests/golden/documents/*.txt")
    printed = "\n".join(path.read_text(encoding="utf-8") for path in files)
    assert len(rows) == 5
    for part in (part for row in rows for part in row.split(" … ")):
        assert part in printed


@pytest.mark.parametrize("name", ["README", "METHOD", "HOSTS", "CONTRIBUTING"])
def test_every_command_can_be_typed(name: str) -> None:
    for line in typed(next(page for page in PAGES if page.stem == name)):
        words = shlex.split(line, comments=True)
        if not words or words[0].startswith("-"):
            cli.cli.make_context("jaxtui", words)
        else:
            group = click.Context(cli.cli, obj=commands.common.Common())
            word, found, arguments = cli.cli.resolve_command(group, words)
            assert found is not None
            found.make_context(word, arguments, parent=group)


def test_every_extra_that_the_readme_names_exists() -> None:
    text = README.read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    named = set(re.findall(r"\.\[(\w+)\]", text))
    assert named == {"tpu", "cuda12", "cuda13", "topology", "test"}
    for extra in named:
        assert re.search(rf"^{extra} = \[", project, re.MULTILINE)


def test_every_exit_code_is_on_the_page_of_scripts() -> None:
    text = METHOD.read_text(encoding="utf-8")
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
    assert {line.split(maxsplit=1)[0] for line in typed(README) if line} >= set(
        COMMANDS
    )


def test_every_command_of_a_wheel_is_run_before_it_is_published() -> None:
    release = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    smoke = (ROOT / ".github" / "smoke").read_text(encoding="utf-8")
    assert ".github/smoke" in release
    assert {*re.findall(r"^jaxtui (\w+)", smoke, re.M)} == {*COMMANDS}


def test_every_command_and_every_option_has_help() -> None:
    context = click.Context(cli.cli)
    for one in (cli.cli, *(cli.cli.get_command(context, x) for x in COMMANDS)):
        assert one is not None
        assert one.help
        for option in one.params:
            assert not isinstance(option, click.Option) or option.help


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pictures_and_links_are_there(page: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        if anchor:
            titles = re.findall(r"^#+ (.*)", target.read_text(encoding="utf-8"), re.M)
            slugs = [
                re.sub(r"[^\w -]", "", x.lower()).replace(" ", "-") for x in titles
            ]
            assert anchor in slugs, link
