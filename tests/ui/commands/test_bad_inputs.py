"""Whatever is mistyped gets one sentence and 64, and nothing is measured."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.fake_engine import FakeEngine
from tests.ui.commands.fakes import complete, run

COMPILE = "hlo matmul --topology v5e:2x4"

TYPED = [
    ("bnech", "Did you mean bench?"),
    ("--cpu-devices 0 devices", "0 is not in the range"),
    ("--hold devices", "--hold and --fps belong to the app"),
    ("--fps nan", "nan is not a finite number"),
    ("--start-limit 1e999 devices", "1e999 is not a finite number"),
    ("--start-limit=-1 devices", "-1.0 is not in the range"),
    ("--cpu-devices nan devices", "'nan' is not a valid whole number"),
    ("""devices --python "a ' b" """, "is not a command: No closing quotation"),
    ("devices --python ''", "'' names no Python"),
    ("--start-limit soon devices", "'soon' is not a valid number."),
    ("--cpu-devices two devices", "'two' is not a valid whole number."),
    ("schema nonsense", '"nonsense" prints no document'),
    # bench
    ("bench", "Name an op, as in `jaxtui bench matmul`"),
    ("bench matmull", "Did you mean matmul?"),
    ("bench matmul 256", "as in matmul:256, or type it as the size"),
    ("bench matmul:0", '"0" is not a size'),
    ("bench matmul --size 256..", '"256.." is not a size'),
    ("bench matmul --size nan", '"nan" is not a size'),
    ("bench matmul --device tpu:0", "cpu:0, cpu:1"),
    ("bench matmul --device ''", "The device is empty: give"),
    ("bench matmul --budget ''", "The budget is empty: give seconds"),
    ("bench selu --precision high", "selu takes only default"),
    ("bench matmul --budget nan", 'The budget "nan" is not a time'),
    ("bench matmul --target nan", "'nan' is not one of '10', '3', '1'"),
    ("bench matmul --memory mine", "'mine' is not one of 'fresh', 'reused'"),
    # functions of files
    ("bench mein.py:f", "Did you mean mine.py?"),
    ("bench mine.py", '"mine.py" is neither an op nor a function'),
    ("bench mine.py:f()", '"mine.py:f()" is neither'),
    ("bench ./mine", "neither an op nor a function of a file"),
    ("bench mine.py:f --arg g32[8]", '"g32[8]" is not an argument'),
    ("bench mine.py:f --arg 8,8", "as XLA does, f32[1024,1024]"),
    ("bench mine.py:f --mesh 2 --mode numpy", "The mode numpy runs on the host"),
    ("bench mine.py:f --arg f32[0]", '"f32[0]" is not an argument'),
    ("bench matmul --arg f32[8]", "--arg describes the arguments of a function"),
    ("roofline --arg f32[8]", "--arg describes the arguments of a function"),
    ("crossover mine.py:f", "as in --size 64..4096"),
    ("crossover mine.py:f --size 1,2 --dtype f32", "--dtype"),
    ("crossover mine.py:f --size 1,2 --between float32,jit/bf16", "--between"),
    ("hlo mine.py:f --arg f32[x]", '"f32[x]" is not an argument'),
    ("hlo mine.py:f,g", "One op"),
    ("hlo nowhere.py:f", "There is no file nowhere.py"),
    # files to write
    ("bench selu --export out", '"out" needs one of these endings: .json, .csv'),
    ("bench selu --export nowhere/o.csv", "folder nowhere does not exist"),
    ("bench selu --export old.csv", "old.csv already exists: add --force"),
    ("bench selu --export folder.csv", "folder.csv is a folder: name a file in it."),
    (f"bench selu --export {'a' * 300}.csv", "File name too long."),
    ("bench selu --export ''", ". is a folder: name a file in it."),
    ("crossover selu --export a.py", "needs one of these endings: .json, "),
    ("history --export a.svg", '"a.svg" needs one of these endings: .json, '),
    ("history selu --delete --export a.csv", "--delete and --export do not go"),
    # check
    ("check --device cpu:7", "cpu:0, cpu:1"),
    ("check --limit ''", "The limit is empty: give seconds"),
    ("check --level thorough", 'no level "thorough": choose one of quick, full'),
    ("check --limit 0", 'The limit "0" is not a time'),
    ("check --limit 1", "give more than 1.5 seconds"),
    ("check --level full --limit 15", "give more than 60 seconds"),
    ("check --baseline nosuch", "nosuch: No such file"),
    # hlo
    ("hlo", "Name an op"),
    (f"{COMPILE} --size 0", "write a positive"),
    (f"{COMPILE} --size 256..1024", "One size at a time"),
    (f"{COMPILE} --dtype bf16,f32", "One dtype at a time"),
    (f"{COMPILE} --mode numpy", "The mode numpy does not go through XLA"),
    ("hlo selu --stage mlir", "choose one of jaxpr, stablehlo, hlo, all"),
    ("hlo selu --dtype int8", "selu doesn't run in int8"),
    ("hlo matmul --mode pallas", "matmul has no mode pallas"),
    # crossover
    ("crossover matmul,selu", '"matmul,selu" is more than one op'),
    ("crossover selu --between jit", '"jit" is nothing to compare: name two'),
    ("crossover selu --between jit,eager,numpy", 'numpy" is nothing to compare'),
    ("crossover selu --between jit,jit", '"jit,jit" is nothing to compare'),
    ("crossover selu --between jit,float32", "are the same (selu 16 float32 jit"),
    ("crossover selu --between jit,quick", '"quick" is nothing to compare'),
    ("crossover selu --between jit/x,numpy", '"jit/x" is nothing to compare'),
    ("crossover selu --between jit,", '"" is nothing to compare'),
    ("crossover selu --between jit,pallas", "selu has no mode pallas"),
    ("crossover selu --between jit,int8", "selu doesn't run in int8"),
    ("crossover selu --between jit,jit/cpu:9", 'There is no device "cpu:9"'),
    ("crossover selu --between jit,jit/cpu", '"cpu" is 2 devices'),
    ("crossover selu --between jit,highest", 'The precision "highest" is for'),
    ("crossover selu --size 64", '"64" is one size'),
    ("crossover selu --size 16..1Gx1.1", "64 are enough"),
    # roofline
    ("roofline matmul --device cpu", '"cpu" is 2 devices: name one'),
    ("roofline --dtype int8", "No op takes int8."),
    # links
    ("links --size 0", '"0" is not a size: bytes are a positive whole number'),
    ("links --size 1e16", '"1e16" is not a size'),
    ("links --device cpu:1,cpu:1", "A link needs two devices"),
    ("links --device cpu:7", "cpu:0, cpu:1"),
    ("links --export o.csv", '"o.csv" needs one of these endings: .json, '),
    # history and compare
    ("history --since someday", '"someday" is not a date'),
    ("history --since 99999999999w", "99999999999w"),
    ("history --yes", "works only with --delete"),
    ("history --delete", "Name the measurements"),
    ("history --delete --json", "--delete and --json do not go together"),
    ("compare 1 2", "no measurement 1"),
    ("compare 1 2 --fail-if-slower 0%", '"0%" is not a percentage'),
    ("compare 1 2 --fail-if-slower much", '"much" is not a percentage'),
    (f"compare {'9' * 30} 1", "jaxtui: "),
    ("compare ² 1", "²"),
    ("compare nowhere.json 1", "neither an id"),
    ("compare void.json 1", "it has another structure"),
    ("compare cut.json 1", "is not a document of `jaxtui bench --json`"),
    ("compare list.json 1", "it has another structure"),
    ("compare empty.json 1", "it has no figures"),
    ("compare other.json 1", "it has another structure"),
    ("compare newer.json 1", "its schema is 3, not 1 or 2"),
    # learn
    ("learn clok", "Did you mean clock?"),
    ("learn clock --size 16..64", "One size at a time"),
    ("learn clock --size 1e15", "does not fit the lesson clock"),
    ("learn clock --step 99", "The lesson clock has no step 99"),
    ("learn clock --device tpu:0", "choose one of cpu:0"),
    ("learn --size 64", "Name a lesson"),
    ("learn clock --class", "--class opens the app"),
]


FILES = {
    "mine.py": "def f(x): ...\ndef g(x): ...\n",
    "old.csv": "old",
    "void.json": "",
    "cut.json": "{",
    "list.json": "[1]",
    "empty.json": '{"schema": 1, "host": null, "measurements": []}',
    "other.json": '{"schema": 1, "measurements": [{"case": 1}]}',
    "newer.json": '{"schema": 3, "measurements": []}',
}


@pytest.mark.parametrize(("line", "sentence"), TYPED, ids=[line for line, _ in TYPED])
def test_a_mistake_gets_one_sentence_and_64(
    line: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("folder.csv").mkdir()
    Path("link").symlink_to(".")
    engine = FakeEngine(complete)
    assert run(engine, *shlex.split(line)) == 64
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("jaxtui: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert not engine.works
    assert engine.options is None or "close" in engine.calls
    assert Path("old.csv").read_text() == "old"
    assert not Path("a.csv").exists()
