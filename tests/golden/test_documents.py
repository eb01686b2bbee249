"""Documents that must not change by accident: of commands, and of the timing.

The engine of the commands is ``player.py``, behind the real client and the real pipes;
its transcripts were recorded on a CPU and shortened, those of TPUs and of faults put
together. The process of the timing is ``fake_time.py``, on a clock that is made up.
With ``JAXTUI_GOLDEN=write`` in the environment the files beside this one are written
instead of compared with, and the requests of a transcript are replaced by those that
were made.
"""

from __future__ import annotations

import difflib
import json
import linecache
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxtui import cli
from jaxtui.core.engine.protocol import decode_envelope
from jaxtui.features.audit import child as audits
from jaxtui.features.audit.messages import Witness
from jaxtui.features.check import exam as examination

HERE = Path(__file__).parent
STREAMS, DOCUMENTS = HERE / "streams", HERE / "documents"
WRITES = os.environ.get("JAXTUI_GOLDEN") == "write"

SCENARIOS = {
    "devices": ("devices", "devices"),
    "devices_tpu": ("tpu", "devices"),
    "devices_held": ("held", "devices"),
    "bench": ("bench", "bench matmul:256 sum:4096 add:1e6 --mode jit,numpy,eager"),
    "bench_failures": ("bench_failures", "bench matmul:256 sum:4096 --mode jit,numpy"),
    "bench_cancelled": ("bench_cancelled", "bench matmul:256 sum:4096 --mode jit"),
    "bench_crashed": ("bench_crashed", "bench matmul:256 sum:4096 --mode jit,numpy"),
    "check": ("check", "check"),
    "check_baseline": ("check", "check --baseline KEPT/check.json"),
    "check_tpu_low": ("check_tpu_low", "check"),
    "check_tpu_fail": ("check_tpu_fail", "check"),
    "check_tpu_baseline": ("check_tpu_fail", "check --baseline KEPT/check_tpu.json"),
    "check_crashed": ("check_crashed", "check"),
    "learn_clock": ("learn_clock", "learn clock --step 1"),
    "learn_race": ("learn_race", "learn first-call --step 4"),
    "learn_ahead": ("learn_ahead", "learn ahead --step 2"),
    "crossover": ("crossover", "crossover sigmoid --size 64..64kx4 --budget 15"),
    "roofline": ("roofline", "roofline matmul:512 add:1e6 --budget 12 --yes"),
    "hlo": ("hlo", "hlo softmax:64"),
    "ops": ("devices", "ops"),
    "learn": ("", "learn"),
    "links": ("links", "links"),
    "profile_trace": ("", "profile --load KEPT/trace.xplane.pb"),
    "history": ("", "history"),
    "history_some": ("", "history sigmoid jit --limit 3 --since 2026-11-20"),
    "compare": ("", "compare 12 11"),
    "compare_files": ("", "compare KEPT/bench.json KEPT/bench_failures.json"),
    "compare_other": ("", "compare 20 KEPT/bench_failures.json"),
    "readme_lie": ("readme_lie", "lie"),
    "readme_bench": (
        "readme_bench",
        "bench matmul:256 selu:1e6 --mode jit,numpy",
    ),
    "readme_check": ("readme_check", "check"),
    "readme_audit": ("", "audit train.py"),
    "readme_profile": ("readme_profile", "profile train.py:step"),
}
"""By name: the transcript, if an engine is needed, and what is typed.

``KEPT`` is the data folder: it begins as a copy of ``kept``, which a version of
November 2026 wrote (history, documents) and no later one may fail to read, with the
program that the README audits and profiles. The README shows ``readme_*``.
"""


class Played:
    """Commands over one transcript, with a data folder of their own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capture = folder, capture

    def __call__(self, command: str, stream: str = "") -> tuple[int, str, str]:
        """Exit code, stdout and stderr of ``jaxtui COMMAND``."""
        arguments = command.replace("KEPT", str(self.folder / "kept")).split()
        heard = self.folder / "heard"
        heard.write_text("")
        if stream:
            check_events(STREAMS / f"{stream}.jsonl")
            player = [sys.executable, "-S", str(HERE / "player.py")]
            words = [*player, str(STREAMS / f"{stream}.jsonl"), str(heard)]
            arguments += ["--python", " ".join(words)]
        code = cli.main(arguments)
        said = self._capture.readouterr()
        if stream:
            text = heard.read_text().replace(f"{self.folder / 'kept'}/", "")
            check_requests(STREAMS / f"{stream}.jsonl", text.splitlines())
        out, err = (
            text.replace(str(self.folder / "kept"), "KEPT")
            for text in (said.out, said.err)
        )
        return code, out, err


@pytest.fixture
def play(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Iterator[Played]:
    for name in ("NO_COLOR", "FORCE_COLOR", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    shutil.copytree(HERE / "kept", tmp_path / "kept")
    monkeypatch.setenv("JAXTUI_DATA", str(tmp_path / "kept"))
    # A check of today may have more tests than one that was recorded.
    recorded = re.findall(
        r'"test":"(\w+)","level"', (STREAMS / "check.jsonl").read_text()
    )
    tests = {name: examination.BUDGETS["quick"][name] for name in recorded}
    monkeypatch.setitem(examination.BUDGETS, "quick", tests)
    monkeypatch.chdir(tmp_path / "kept")
    linecache.checkcache()
    monkeypatch.setattr(audits, "watch", watched)
    yield Played(tmp_path, capfd)
    monkeypatch.undo()
    time.tzset()


async def watched(*program: object, **options: Any) -> tuple[int, Witness]:
    """A recorded run of ``train.py``: its output and what was seen."""
    kept = json.loads(Path("witness.json").read_text())
    print(kept["printed"], end="", file=sys.stderr if options["stdout"] else sys.stdout)
    return 0, msgspec.convert(kept["witness"], Witness)


def test_an_event_that_cannot_be_read_is_not_played(tmp_path: Path) -> None:
    good = (STREAMS / "cpu.jsonl").read_text().splitlines()
    (tmp_path / "bad.jsonl").write_text("\n".join([good[0], '{"event": 1}']))
    (tmp_path / "all.jsonl").write_text('{"opening":"bad.jsonl"}\n{"die":9}')
    with pytest.raises(ValueError, match=r"bad\.jsonl:2"):
        check_events(tmp_path / "all.jsonl")


@pytest.mark.parametrize("name", SCENARIOS)
def test_command(name: str, play: Played) -> None:
    stream, command = SCENARIOS[name]
    code, out, err = play(command, stream)
    text = f"$ jaxtui {command}\n{out}\n--- stderr\n{err}\n--- exit code {code}\n"
    check_frozen(DOCUMENTS / f"{name}.txt", text)
    # Before the arguments: what follows a script belongs to it.
    word, _, rest = command.partition(" ")
    again, out, _ = play(f"{word} --json {rest}", stream)
    assert again == code
    if out:
        check_frozen(DOCUMENTS / f"{name}.json", pretty(json.loads(out)))


@pytest.mark.parametrize(
    "name",
    [
        *("bench_failures", "check_tpu_fail", "compare_files", "crossover"),
        *("devices_tpu", "history", "links", "profile_trace", "ops"),
        *("readme_audit", "readme_lie", "roofline"),
    ],
)
def test_text_in_60_columns(
    name: str, play: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (
        "ui.commands.output",
        "features.audit.command",
        "features.bench.lie",
    ):
        monkeypatch.setattr(f"jaxtui.{module}.width_of", lambda _: 60)
    stream, command = SCENARIOS[name]
    _, out, _ = play(command, stream)
    assert max(map(len, out.splitlines())) <= 60
    check_frozen(DOCUMENTS / f"{name}_60.txt", out)


@pytest.mark.parametrize(
    "name",
    [
        *("bench", "check_tpu_fail", "compare", "devices_tpu", "history", "hlo"),
        *("learn_race", "links", "profile_trace", "roofline"),
    ],
)
def test_colours_are_codes_around_the_same_text(
    name: str, play: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxtui.ui.commands.terminal.takes_codes", lambda stream: True)
    stream, command = SCENARIOS[name]
    _, out, _ = play(command, stream)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert plain != out
    document = (DOCUMENTS / f"{name}.txt").read_text()
    shown = document.partition("\n")[2].partition("\n--- stderr")[0]
    # Spaces at the end of a line carry its colour.
    lines = [line.rstrip() for line in plain.splitlines()]
    assert lines == [line.rstrip() for line in shown.splitlines()]


def test_calls_events_and_measurements() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "fake_time.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    check_frozen(HERE / "timing.json", pretty(json.loads(done.stdout)))


FIRST = ("inputs", "trace", "lower", "compile", "first_call", "warm-up")
LAST = {"transfer", "fetch", "check"}


def test_an_accelerator_shows_figures_first_and_has_rounds_enough() -> None:
    """On a clock with the times of an H100, on which a call takes 2 ms."""
    scenarios = json.loads((HERE / "timing.json").read_text())
    played = {k: v for k, v in scenarios.items() if k.startswith("an accelerator")}
    assert len(played) == 3
    for title, document in played.items():
        events = document["events"]
        compiled = [one["case"]["mode"] == "jit" for one in document["measurements"]]
        for index in (i for i, jit in enumerate(compiled) if jit):
            first = events.index(f"Sampled {index}")
            begun = [words.split() for words in events[:first]]
            phases = [
                words[2] for words in begun if words[:2] == ["PhaseStarted", f"{index}"]
            ]
            assert (*phases,) in (FIRST, ("import", *FIRST)), title
        last = max(i for i, words in enumerate(events) if words.startswith("Sampled"))
        assert not [words for words in events[:last] if words.split()[-1] in LAST]
        for one in document["measurements"]:
            assert one["ready"]["rounds"] >= (6 if one["case"]["mode"] == "jit" else 3)


def test_what_is_exported_and_kept(play: Played) -> None:
    stream, command = SCENARIOS["bench"]
    (play.folder / "kept" / "history.db").unlink()
    files = [play.folder / f"bench.{ending}" for ending in ("csv", "md", "json")]
    code, _, _ = play(command + "".join(f" --export {file}" for file in files), stream)
    assert code == 0
    for file in files[:2]:
        check_frozen(DOCUMENTS / f"bench_export{file.suffix}", file.read_text())
    printed = (DOCUMENTS / "bench.json").read_text()
    assert json.loads(files[2].read_text()) == json.loads(printed)
    _, out, _ = play("history --json")
    listed = json.loads(out)
    for row in listed["measurements"]:
        row.pop("at")
    check_frozen(DOCUMENTS / "bench_history.json", pretty(listed))


def check_frozen(path: Path, text: str) -> None:
    """Compare with a file, or write it where that is asked for."""
    if WRITES:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    lines = difflib.unified_diff(
        path.read_text().splitlines(),
        text.splitlines(),
        "frozen",
        "now",
        lineterm="",
        n=1,
    )
    if changes := list(lines):
        shown = "\n".join(line[:160] for line in changes[:40])
        hint = "JAXTUI_GOLDEN=write writes it."
        pytest.fail(f"{path.name} would change. {hint}\n{shown}", pytrace=False)


def pretty(document: Any) -> str:
    """Readable, a line for each field."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def check_events(transcript: Path) -> None:
    """What is played can be read: a client waits for what it does not understand.

    Raises:
        ValueError: It names the line.
    """
    for number, line in enumerate(transcript.read_text().splitlines(), 1):
        if line.startswith('{"opening"'):
            check_events(transcript.parent / json.loads(line)["opening"])
        elif not line.startswith(('{"type"', '{"die"')):
            try:
                decode_envelope(line.encode())
            except msgspec.DecodeError as error:
                raise ValueError(f"{transcript.name}:{number}: {error}") from error


def check_requests(transcript: Path, heard: list[str]) -> None:
    """What was asked of the engine is what the transcript says."""
    lines = transcript.read_text().splitlines()
    places = [i for i, line in enumerate(lines) if line.startswith('{"type"')]
    if WRITES:
        for place, line in zip(places, heard, strict=True):
            lines[place] = line
        transcript.write_text("\n".join(lines) + "\n")
    assert [asked(line) for line in heard] == [asked(lines[i]) for i in places]


def asked(line: str) -> Any:
    """A request without its budget: what is left of one depends on the clock."""
    request = json.loads(line)
    for work in ("work", "experiment"):
        request.get(work, {}).pop("budget_seconds", None)
    return request
