"""What keeps JAX from starting, as XLA, jax and Python say it."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from jaxtui.machine import causes
from jaxtui.ui import words

FLAGS = "F1127 22:55:49.774868 19908 parse_flags_from_env.cc:"
READ = '{}171] Could not open file "{}" to read flags for environment variable "{}".'

FOUND = [
    # The text, the environment, the code, and what the sentence has.
    (
        f"{FLAGS}234] Unknown flag in XLA_FLAGS: --xla_x=1",
        {},
        "flag-unknown",
        "--xla_x",
    ),
    (
        f"{FLAGS}234] Unknown flags in XLA_FLAGS: --xla_a --xla_tpu_b=1",
        {},
        "flag-unknown",
        "Move --xla_tpu_b=1 to LIBTPU_INIT_ARGS",
    ),
    (f"{FLAGS}234] Unknown flag in XLA_FLAGS: -xla_b", {}, "flag-unknown", "hyphens"),
    (
        "ERROR: Unknown command line flag 'xla_tpu_odd'. Did you mean: xla_tpu_old ?",
        {"LIBTPU_INIT_ARGS": "--xla_tpu_odd=1"},
        "flag-unknown",
        "libtpu has no flag --xla_tpu_odd in LIBTPU_INIT_ARGS",
    ),
    (
        "Couldn't interpret value maybe for flag xla_cpu_x.\nFlag parsing failed.",
        {},
        "flag-value",
        "'maybe' as a value of --xla_cpu_x",
    ),
    (
        READ.format(FLAGS, "–-xla_dump_to=x", "XLA_FLAGS"),
        {},
        "flag-unreadable",
        "begins with “–” (en dash)",
    ),
    (READ.format(FLAGS, "xla_x", "XLA_FLAGS"), {}, "flag-unreadable", "with 'x'"),
    (
        "ValueError: invalid truth value 'maybe' for environment 'JAX_ENABLE_X64'",
        {"JAX_ENABLE_X64": "maybe"},
        "setting-refused",
        "JAX_ENABLE_X64=maybe",
    ),
    (
        'ValueError: Invalid value "many" for JAX flag jax_num_cpu_devices',
        {"JAX_NUM_CPU_DEVICES": "many"},
        "setting-refused",
        "JAX_NUM_CPU_DEVICES=many",
    ),
    (
        "ValueError: jax.default_device must be passed either a Device object (e.g. `"
        "jax.devices('cpu')[0]`) or a platform name string, got: 'cpu:7'",
        {"JAX_OTHER": "1", "JAX_DEFAULT_DEVICE": "cpu:7"},
        "setting-refused",
        "JAX_DEFAULT_DEVICE=cpu:7",
    ),
    (
        "RuntimeError: Unable to initialize backend 'cpu': INVALID_ARGUMENT: Could not"
        " determine process_index for this process",
        {"JAX_NUM_CPU_DEVICES": "0"},
        "setting-refused",
        "JAX_NUM_CPU_DEVICES=0",
    ),
    (
        "CUDA backend failed to initialize: could not convert string to float: 'abc'",
        {"XLA_PYTHON_CLIENT_MEM_FRACTION": "abc"},
        "setting-refused",
        "XLA_PYTHON_CLIENT_MEM_FRACTION=abc",
    ),
    (
        'ValueError: XLA_PYTHON_CLIENT_ALLOCATOR env var must be "default", "platform"',
        {"XLA_PYTHON_CLIENT_ALLOCATOR": "mine"},
        "setting-refused",
        "XLA_PYTHON_CLIENT_ALLOCATOR=mine",
    ),
    (
        "INTERNAL: no supported devices found for platform CUDA",
        {"CUDA_VISIBLE_DEVICES": "9"},
        "setting-refused",
        "CUDA_VISIBLE_DEVICES=9",
    ),
    (
        "ImportError: libjax_common.so: failed to map segment from shared object",
        {},
        "limit-reached",
        "`ulimit -v` allows (1024)",
    ),
    ("ImportError: libcudart.so.12: cannot open it", {}, "", ""),
    ("KeyError: 'x'", {"JAX_ENABLE_X64": "0"}, "", ""),
]


@pytest.mark.parametrize(("text", "environment", "code", "sentence"), FOUND)
def test_what_keeps_jax_from_starting(
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    environment: dict[str, str],
    code: str,
    sentence: str,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**20, 2**20))
    remark = causes.find(text, environment)
    assert (remark.code if remark else "") == code
    assert sentence in (words.text(remark) if remark else "")


@pytest.mark.parametrize(
    ("file", "text", "modules"),
    [
        ("queue.py", "AttributeError: module 'queue' has no attribute", ("queue",)),
        ("queue/__init__.py", "cannot import name 'Queue' from 'queue'", ("queue",)),
        ("types.py", "ValueError: 3", ()),
        # Compiled code does not say what it imports.
        ("numpy.py", "ImportError: error while initializing it", ("numpy",)),
        ("numpy/__init__.py", "ImportError: error while initializing it", ()),
        ("mine.py", "ImportError: module 'mine' is mine", ()),
    ],
)
def test_a_file_that_hides_a_module(
    tmp_path: Path, file: str, text: str, modules: tuple[str, ...]
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("")
    remark = causes.find(text, {"PYTHONPATH": f"{tmp_path / 'no'}:{tmp_path}"})
    assert (remark.facts["modules"] if remark else ()) == modules
    if remark:
        assert str(tmp_path / modules[0]) in words.text(remark)
    assert causes.find(text, {}) is None


def test_flags_that_xla_ignores() -> None:
    flags = "--xla_a=1 –-xla_b=2 xla_c=3 --xla_d=/xla_e"
    ignored = [*causes.ignored_flags({"XLA_FLAGS": flags})]
    assert [one.facts["flag"] for one in ignored] == ["–-xla_b=2", "xla_c=3"]
    assert "en dash" in words.text(ignored[0])
