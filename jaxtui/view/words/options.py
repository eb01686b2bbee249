"""What a command refuses to do with what was typed, and what it says at its end."""

from __future__ import annotations

from jaxtui.view.words.base import Facts, Words, did_you_mean

_BETWEEN = (
    "name two sides, such as numpy,jit or float32,bfloat16 or jit/cpu:0,jit/tpu:0; a"
    " side is made of a mode, dtype, device, precision or place for inputs"
)


def _command_unknown(facts: Facts) -> str:
    name, commands = facts["typed"], facts["commands"]
    near = did_you_mean(name, commands)
    return f'There is no command "{name}": choose one of {", ".join(commands)}.{near}'


_TEXTS = {
    # What is missing.
    "name-op": (
        "Name an op, as in `jaxtui {command} matmul`: `jaxtui ops` lists them."
    ),
    "name-for-topology": (
        "Name {what}, as in `jaxtui compile matmul --topology v5e:2x4`."
    ),
    "name-program": "Name a program, such as train.py.",
    "name-lesson": "Name a lesson: `jaxtui learn` lists them.",
    "name-target": (
        "Name an op, a function such as train.py:step, a program such as train.py, or a"
        " trace with --load."
    ),
    "name-measurements": (
        "Name the measurements to delete, as in `jaxtui history selu --delete`; --since"
        " 1970-01-01 selects all of them."
    ),
    "option-empty": "The {noun} is empty: give {examples}.",
    "unconfirmed": "{what}: add --yes to go on.",
    # What does not go together.
    "one-at-a-time": "One {noun} at a time: choose one of {names}.",
    "app-options": "--hold and --fps belong to the app: leave them out with a command.",
    "python-compared": (
        "Only `jaxtui bench` takes turns between two Pythons: name one."
    ),
    "pythons-of-hosts": (
        "Two engines are compared on one host: name one Python or kind of memory, or"
        " add --num-processes 1 and start it there."
    ),
    "one-pair": (
        "One process of each Python makes one pair, which has no interval: --processes"
        " {processes} gives one of 95 %."
    ),
    "two-of-both": "Choose one: two Pythons, or both kinds of memory.",
    "export-of-two": (
        "--export writes what one engine has measured: leave it out with two; --json"
        " has both."
    ),
    "limit-passed": (
        "The limit of {seconds:g} s is reached: the results are those that arrived."
    ),
    "yes-alone": "--yes works only with --delete.",
    "not-with": "{option} and {other} do not go together: leave one out.",
    "class-alone": "--class opens the app: leave everything else out.",
    "other-target": "--{option} belongs to {what}: leave it out here.",
    "arg-unused": (
        "--arg describes the arguments of a function of your own: name one, as in"
        " train.py:step."
    ),
    "mesh-unused": (
        "--mesh is for collectives and functions of your own: name one, as in `jaxtui"
        " bench all_reduce --mesh 2x4`."
    ),
    "export-exists": "{path} already exists: add --force to replace it.",
    "place-incomplete": (
        "--coordinator, --num-processes and --process-id belong together: give all"
        " three, or none where a launcher starts the processes."
    ),
    "place-unknown": (
        "There is no process {process} among {processes}: they count from 0."
    ),
    # What is not what it should be.
    "infinite-number": "{typed} is not a finite number.",
    "not-a-command": "'{typed}' is not a command: {why}.",
    "not-a-python": (
        "'{typed}' names no Python that has jax and msgspec, nor two to compare."
    ),
    "not-an-address": (
        "'{typed}' is not an address: give HOST:PORT, such as 10.0.0.1:8476."
    ),
    "not-a-date": (
        '"{typed}" is not a date: write 2026-11-21, "2026-11-21 14:30", 12h, 3d or 2w.'
    ),
    "not-to-compare": (
        '"{typed}" is neither an id of the history nor a file that can be read: {why}.'
    ),
    "no-document-of": '"{typed}" prints no document: choose one of {commands}.',
    "no-file": "There is no file {path}.",
    "limit-too-short": (
        "The limit of {limit:g} s is shorter than the longest test of level {level}:"
        " give more than {longest:g} seconds."
    ),
    "nothing-in-common": (
        "{first} and {second} have no case in common: compare two ids, or two files in"
        " which the same op, size, dtype and mode was measured."
    ),
    "mode-compiles-nothing": (
        "The mode {mode} does not go through XLA: choose {choices}."
    ),
    "step-unknown": "The lesson {lesson} has no step {step}: it has {steps}.",
    "dtype-of-none": "No op takes {dtypes}.",
    # Crossover.
    "sides-refused": '"{typed}" is nothing to compare: ' + _BETWEEN + ".",
    "sides-alike": "Both sides are {side}, and nothing crosses itself: "
    + _BETWEEN
    + ".",
    "one-size": (
        '"{typed}" is one size: `jaxtui crossover` searches a range such as 16..8192.'
    ),
    "grid-too-long": (
        '"{typed}" has {count} sizes: the search closes in by itself, so {most} are'
        " enough; take a larger factor."
    ),
    "side-of-own": (
        "The arguments of a function decide its dtype and precision: leave --dtype out,"
        " and name modes, devices or places for inputs in --between."
    ),
    "op-and-size": '"{typed}" is more than one op: give one, and its sizes as --size.',
    "own-grid": (
        "A function of a file is searched over the sizes that its factory takes: name"
        " them, as in --size 64..4096."
    ),
    # What keeps a command from running.
    "app-of-one-host": (
        "The app works on one host: open it with --this-host. A command, such as"
        " `jaxtui devices`, works on all."
    ),
    "driver-unknown": (
        "TEXTUAL_DRIVER={name} is no driver of Textual ({why}): unset it."
    ),
    "no-terminal": (
        "The app needs a terminal, and {stream} is not one: use `jaxtui devices` or"
        " `jaxtui bench matmul`, with --json for a program to read."
    ),
    "too-many-files": (
        "{why}: this process may open {most}. Allow more, as with `ulimit -n 256`."
    ),
    "not-started": (
        '"{command}" could not be started: {why}. Name a Python that has jax and'
        " msgspec with --python."
    ),
    "stdout-closed": "Could not print: stdout is closed.",
    "stdout-broken": "Could not print everything: {why}.",
    "bug": "This is a bug in jaxtui, not in what you typed.",
    # How it ended.
    "interrupted": "Interrupted: these are the results so far.",
    "interrupted-first": "Interrupted before the run began.",
    "interrupted-in-test": (
        "Interrupted in test {number} of {tests}, {test}: these are the results so far."
    ),
    "unwritten": "{why} {path} was not written.",
    "nothing-written": "There are no results yet, so jaxtui wrote no file.",
    "program-ended": "{program} ended with exit status {status}.",
    "history-empty": (
        "The history is empty: `jaxtui` and `jaxtui bench` save measurements in {path}."
    ),
    "nothing-listed": "No measurement matches: `jaxtui history` lists all.",
    "would-delete": "This would delete {what} for good",
    # Where devices come from that are not here.
    "recorded": "RECORDED: {name}, not this machine.",
    "described": "{name}, from libtpu {version}; not this machine.",
}

WORDS = {
    **{code: Words("", text.format_map) for code, text in _TEXTS.items()},
    "command-unknown": Words("", _command_unknown),
}
"""Their label is nowhere to be seen."""
