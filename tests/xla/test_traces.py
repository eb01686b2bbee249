"""The reader of traces: as JAX reads them, what JAX hides, and any bytes at all."""

from __future__ import annotations

import contextlib
import gzip
import os
import random
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.xla import traces
from tests.tasks.spaces import Line, Named, Plane, event, message, named, space


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("trace")
    product = jax.jit(lambda x: jnp.tanh(x @ x))
    x = jnp.ones((64, 64))
    product(x).block_until_ready()
    jax.profiler.start_trace(str(folder))
    product(x).block_until_ready()
    jax.profiler.stop_trace()
    (file,) = traces.files(folder)
    return file.read_bytes()


def walk(found: traces.Space) -> Iterator[object]:
    """Everything that there is in a trace."""
    for plane in found.planes:
        yield from plane.stats.items()
        for known in plane.metadata.values():
            yield from known.stats.items()
        for line in plane.lines:
            for one in line.events:
                yield from (one.name, one.start_ps, one.duration_ps, *one.stats)


def test_it_is_read_as_jax_reads_it(recorded: bytes) -> None:
    reader = getattr(jax.profiler, "ProfileData", None)
    if reader is None:
        pytest.skip("this JAX has no reader")
    ours = traces.read(recorded)
    theirs = list(reader.from_serialized_xspace(recorded).planes)
    assert [plane.name for plane in ours.planes] == [plane.name for plane in theirs]
    for plane, other in zip(ours.planes, theirs, strict=True):
        for line, like in zip(plane.lines, other.lines, strict=True):
            assert line.name == like.name
            for one, two in zip(line.events, like.events, strict=True):
                assert (one.name, dict(one.stats)) == (two.name, dict(two.stats))
                # A float of so many nanoseconds is right to 256 of them.
                assert abs(one.start_ps / 1000 - two.start_ns) <= 512
                assert abs(one.duration_ps / 1000 - two.duration_ns) <= 1


def test_the_programs_of_a_trace_are_in_it(recorded: bytes) -> None:
    programs = dict(traces.read(recorded).programs())
    assert any(name.startswith("jit_") and proto for name, proto in programs.items())


def test_what_jax_hides_is_read() -> None:
    stats = {"flops": 7, "hlo_category": "loop fusion", "share": 0.5, "down": -3}
    data = space(
        Plane(
            "/device:TPU:0",
            lines=(Line("XLA Ops", (event("%dot.5 = f32[] dot(x)", 3, 4, id=9),), 2),),
            names={"%dot.5 = f32[] dot(x)": Named("dot.5", stats)},
            stats={"peak_teraflops_per_second": 918.0},
        ),
        errors=("dropped 3 events",),
        warnings=("slow",),
    )
    found = traces.read(data)
    (plane,) = found.planes
    (line,) = plane.lines
    (one,) = line.events
    assert (one.metadata.display_name, one.metadata.stats) == ("dot.5", stats)
    assert (one.start_ps, one.duration_ps, one.end_ps) == (2003, 4, 2007)
    assert dict(one.stats) == {"id": 9}
    assert plane.stats == {"peak_teraflops_per_second": 918.0}
    assert (found.errors, found.warnings) == (["dropped 3 events"], ["slow"])


def test_a_compressed_text_is_inflated() -> None:
    part = message((1, 1), (8, gzip.compress(b"a long stack")))
    assert traces._stat(part, {1: "source_stack"}) == ("source_stack", "a long stack")
    for damaged in (b"no gzip", gzip.compress(b"a long stack")[:-9]):
        with pytest.raises(ValueError, match=r"."):
            traces._stat(message((1, 1), (8, damaged)), {})


def test_a_text_that_would_fill_the_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many they are together."""
    traces.read(b"")
    monkeypatch.setattr(traces, "MOST_TEXT", 1000)
    texts = [message((8, gzip.compress(bytes(300) + bytes([i])))) for i in range(4)]
    for _ in (1, 2):  # the same once more takes nothing
        for text in texts[:3]:
            traces._stat(text, {})
    with pytest.raises(ValueError, match="too long"):
        traces._stat(texts[3], {})
    traces.read(b"")
    traces._stat(texts[3], {})
    with pytest.raises(ValueError, match="too long"):
        traces._stat(message((8, gzip.compress(bytes(5000)))), {})


def test_the_latest_run_of_a_folder_is_read(tmp_path: Path) -> None:
    runs = tmp_path / "plugins" / "profile"
    for run in ("2026_11_01", "2026_11_02"):
        (runs / run).mkdir(parents=True)
        for host in ("b", "a"):
            (runs / run / f"{host}.xplane.pb").write_bytes(space())
    names = [file.relative_to(runs) for file in traces.files(tmp_path)]
    assert names == [Path(f"2026_11_02/{host}.xplane.pb") for host in "ab"]
    assert traces.files(runs / "2026_11_01" / "a.xplane.pb") == [
        runs / "2026_11_01" / "a.xplane.pb"
    ]
    assert traces.files(tmp_path / "nothing") == [tmp_path / "nothing"]


def test_a_file_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.xplane.pb"
    file.touch()
    os.truncate(file, 3 * 2**30)  # a hole: it takes no room
    with pytest.raises(traces.TooLargeError) as raised:
        traces.load(file)
    assert raised.value.size == 3 * 2**30


def test_what_never_ends_is_not_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "a.xplane.pb"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(OSError, match="regular file"):
            traces.load(path)


# Any bytes at all.


def survives(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        list(walk(traces.read(data)))


def test_a_trace_that_is_cut_off_is_refused_or_ends(recorded: bytes) -> None:
    with pytest.raises(ValueError, match="cut off"):
        traces.read(recorded[:-1])
    places = random.Random(0)
    for _ in range(60):
        survives(recorded[: places.randrange(len(recorded))])


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_a_damaged_trace_is_a_trace_or_none(seed: int, many: int) -> None:
    names = {
        f"op.{i}": Named(f"op.{i}", {"flops": i, "text": "é" * i}) for i in range(9)
    }
    events = tuple(event(f"op.{i % 9}", i, i, number=i, text=f"{i}") for i in range(30))
    plane = Plane("/device:TPU:0", (Line("XLA Ops", events),), names, {"peak": 1.5})
    data = bytearray(space(plane, errors=("e",)))
    places = random.Random(seed)
    for _ in range(many):
        data[places.randrange(len(data))] = places.randrange(256)
    survives(bytes(data))


def test_an_entry_without_a_name_has_an_empty_one() -> None:
    plane = message((2, b"p"), (4, message((1, 3))), (3, message((4, named(3, 0, 1)))))
    (line,) = traces.read(message((1, plane))).planes[0].lines
    assert [one.name for one in line.events] == [""]
