"""What people type: why it selects nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jaxtui import format as fmt
from jaxtui.view.words.base import Facts, Words, did_you_mean, ended

_SIZES = (
    "write a positive whole number up to 1e15 (4096, 4k for 4 × 1024, 1e6), a range"
    " that doubles (256..4096) or grows by a factor (256..4096x1.41), or a list"
    " (1000,2000)"
)


def _choices(facts: Facts) -> str:
    """The end of a sentence that refuses a name."""
    names = ", ".join(facts["choices"])
    return f"choose one of {names}" if names else "there is none here"


def _unknown(facts: Facts) -> str:
    near = did_you_mean(facts["typed"].lower(), facts["choices"])
    return f'There is no {facts["noun"]} "{facts["typed"]}": {_choices(facts)}.{near}'


def _lesson_size(facts: Facts) -> str:
    least, most = facts["minimum"], facts["maximum"]
    return (
        f"The size {facts['size']} does not fit the lesson {facts['lesson']}: it takes"
        f" {least} to {most} ({facts['means']})."
    )


_FACTORS = {
    "place": ("place", " for inputs"),
    "size-of-op": ("size", " of {ops} ops"),
    "size-and-dtype": ("pair", " of size and dtype for {ops} ops"),
}
"""A noun, which may be plural, and what follows it; others are their own noun."""


def product(factors: Mapping[str, int], ops: int, cases: int) -> str:
    """What comes to so many cases: ``2 ops × 40 sizes = 80 cases``."""
    combinations = math.prod(factors.values())
    what = fmt.plural(cases, "case")
    if combinations == 1:
        return what
    if cases != combinations:
        what = f"{fmt.count(combinations)} combinations, {what} in all"
    texts = []
    for name, count in factors.items():
        noun, rest = _FACTORS.get(name, (name, ""))
        if count > 1:
            texts.append(f"{fmt.plural(count, noun)}{rest.format(ops=ops)}")
    return f"{' × '.join(texts)} = {what}"


def _too_many_cases(facts: Facts) -> str:
    factors = dict(zip(facts["factors"], facts["counts"], strict=True))
    return (
        f"{product(factors, facts['ops'], facts['cases'])}: one run has at most"
        f" {fmt.count(facts['most'])}; shorten a list."
    )


_DOCUMENTS = {
    "bench": "`jaxtui bench --json` or `jaxtui learn NAME --json`",
    "check": "`jaxtui check --json`",
    "profile": "`jaxtui profile --json`",
}


def _no_document(facts: Facts) -> str:
    match facts["lacks"]:
        case "figures":
            why = "it has no figures"
        case "numbers":
            why = "a number in it is too large"
        case "schema":
            why = f"its schema is {facts['schema']}, not {facts['accepted']}"
        case _:
            why = f"it has another structure ({facts['why']})"
    documents = _DOCUMENTS[facts["command"]]
    return f"{facts['file']} is not a document of {documents}: {why}."


WORDS = {
    # Sizes and times.
    "percent-refused": Words(
        "not a percentage",
        lambda f: f'"{f["typed"]}" is not a percentage: 5% or 2.5%, above 0.',
    ),
    "size-refused": Words(
        "not a size", lambda f: f'"{f["typed"]}" is not a size: {_SIZES}.'
    ),
    "bytes-refused": Words(
        "not a size",
        lambda f: (
            f'"{f["typed"]}" is not a size: bytes are a positive whole number up to'
            " 1e15, such as 4096, 4k (4 × 1024), 64MiB or 1e6."
        ),
    ),
    "range-downwards": Words(
        "range runs downwards",
        lambda f: f'The range "{f["typed"]}" runs downwards: write {f["upwards"]}.',
    ),
    "range-too-long": Words(
        "range too long",
        lambda f: (
            f'The range "{f["typed"]}" has more than {f["most"]} sizes: take a larger'
            " factor."
        ),
    ),
    "time-refused": Words(
        "not a time",
        lambda f: (
            f'The {f["noun"]} "{f["typed"]}" is not a time: give seconds such as 10, at'
            " most a day."
        ),
    ),
    "target-refused": Words(
        "not a target",
        lambda f: f"The target {f['typed']} is not a share below 1: give 0.03 for 3 %.",
    ),
    "seed-refused": Words(
        "not a seed",
        lambda f: (
            f"The seed {f['typed']} is not a whole number from 0 to {f['most']}: give"
            " one such as 0."
        ),
    ),
    "processes-refused": Words(
        "not a number",
        lambda f: (
            f'"{f["typed"]}" is not a number of processes: give 1 to {f["most"]}.'
        ),
    ),
    # Names.
    "name-unknown": Words("unknown name", _unknown),
    "size-for-op": Words(
        "size without op",
        lambda f: (
            f'There is no op "{f["typed"]}": write a size after its op, as in'
            f" {f['op']}:{f['typed']}, or type it as the size."
        ),
    ),
    # Devices.
    "no-device": Words("no device", "JAX has no device that this process can use."),
    "several-devices": Words(
        "several devices",
        lambda f: (
            f'"{f["typed"]}" is {f["count"]} devices: name one, such as {f["first"]}.'
        ),
    ),
    "device-elsewhere": Words(
        "other process",
        lambda f: f"{f['device']} belongs to process {f['process']}: {_choices(f)}.",
    ),
    "host-chosen": Words(
        "not for JAX",
        lambda f: (
            'JAX does not run on "host": choose mode numpy for it; for JAX'
            f" {_choices(f)}."
        ),
    ),
    "mesh-refused": Words(
        "not a mesh",
        lambda f: (
            f'"{f["typed"]}" is not a mesh: write devices per axis such as 8, 2x4 or'
            " 2x2x2, and behind @ the axes of a collective, as in 2x4@y."
        ),
    ),
    # Functions of files.
    "argument-refused": Words(
        "not an argument",
        lambda f: (
            f'"{f["typed"]}" is not an argument: write a dtype and a shape as XLA does,'
            " f32[1024,1024], bf16[8,128], or s32[] for a number, and behind @ an axis"
            " of the mesh (x, y, z) or - for each dimension: f32[64,128]@x,-."
        ),
    ),
    "arguments-given": Words(
        "arguments given",
        "A function that is given its arguments takes neither size, seed nor args, and"
        " runs in this process alone.",
    ),
    "dtype-of-arguments": Words(
        "dtype of arguments",
        lambda f: (
            f"The dtype {f['dtype']} means nothing for {f['op']}: a function of your"
            " own has that of its arguments, such as bf16[8,128]."
        ),
    ),
    "function-refused": Words(
        "not a function",
        lambda f: (
            f'"{f["typed"]}" is neither an op nor a function of a file: write that as'
            " path/to/file.py:name."
        ),
    ),
    "function-unwanted": Words(
        "own function",
        lambda f: (
            f'"{f["typed"]}" is a function of a file: only `jaxtui bench`,'
            " `jaxtui crossover` and `jaxtui hlo` take those."
        ),
    ),
    "module-unknown": Words(
        "unknown module",
        lambda f: (
            f"There is no module {f['module']} here, nor where this Python looks for"
            " modules: name its file, as in path/to/file.py:name."
        ),
    ),
    "is-folder": Words(
        "a folder", lambda f: f"{f['path']} is a folder: name a file in it."
    ),
    # Cases.
    "nothing-selected": Words(
        "nothing selected", "Nothing is selected: name an op, a dtype and a mode."
    ),
    "precision-unused": Words(
        "precision unused",
        lambda f: (
            f'The precision "{f["precision"]}" is for matrix products:'
            f" {fmt.listed(f['ops'])} takes only default."
        ),
    ),
    "too-many-cases": Words(
        "too many cases",
        _too_many_cases,
    ),
    # Lessons.
    "lesson-size": Words("size out-of-range", _lesson_size),
    "lesson-without-size": Words(
        "no size",
        lambda f: f"The lesson {f['lesson']} has no size to set.",
    ),
    # Files.
    "no-document": Words("not a document", _no_document),
    "ending-unknown": Words(
        "unknown ending",
        lambda f: (
            f'"{f["path"]}" needs one of these endings: {", ".join(f["endings"])}.'
        ),
    ),
    "file-exists": Words("file exists", lambda f: f"{f['path']} already exists."),
    "file-unwritable": Words(
        "not written", lambda f: f"Cannot write {f['path']}: {ended(f['why'])}"
    ),
    "folder-denied": Words(
        "not permitted",
        lambda f: f"No permission to write to the folder {f['folder']}.",
    ),
    "folder-missing": Words(
        "no such folder", lambda f: f"The folder {f['folder']} does not exist."
    ),
    "no-script": Words(
        "no script",
        "A script measures one case: jit, eager or numpy on JAX's default device.",
        lambda f: f["why"],
    ),
    "script-needs-jax": Words(
        "JAX not ready", "JAX is not ready yet, and the script needs it."
    ),
}
