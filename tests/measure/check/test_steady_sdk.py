"""What a made-up libtpu says of a TPU's health."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxtui.machine.survey import Survey
from jaxtui.measure.check import steady
from jaxtui.measure.check.base import Context
from jaxtui.measure.children import Exit
from jaxtui.model import Reading
from tests.measure.check.faults import check

# As the descriptions of the metrics in libtpu have it.
HEALTHY = """
class Metric:
    def __init__(self, values): self.values = values
    def data(self): return self.values
DATA = {
    "tpu_throttle_score": ["0", "0", "0", "0"],
    "ici_link_health": ["tray1.chip3.ici0.int: 0", "tray1.chip3.ici1.int: 0"],
}
def list_supported_metrics(): return ["hbm_capacity_total", *DATA]
def get_metric(name): return Metric(DATA[name])
"""


class Tpu(Context):
    """A context with a TPU."""

    @property
    def devices(self):  # type: ignore[no-untyped-def]
        return (type("Device", (), {"platform": "tpu"}),)


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the SDK in a package that the process finds first."""
    package = tmp_path / "libtpu" / "sdk"
    package.mkdir(parents=True)
    (tmp_path / "libtpu" / "__init__.py").touch()
    (package / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setitem(steady.SDK_SECONDS, "quick", 30.0)  # type: ignore[arg-type]
    return package / "tpumonitoring.py"


def read(stop: bool = False) -> list[Reading]:
    return list(steady.sdk_readings(Tpu(check("steady"), Survey(), lambda: stop)))


def test_a_healthy_tpu(sdk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = "import sys; assert 'jax' not in sys.modules\n"
    sdk.write_text(alone + HEALTHY + "print('libtpu has something to say')")
    throttle, links = read()
    assert (throttle.what, throttle.measured) == ("throttle score", 0)
    assert (links.what, links.measured) == ("link health", 0)
    assert "2 links" in links.said
    for one in (throttle, links):
        assert (one.test, one.device) == ("steady", None)
        assert not one.fault + one.doubt + one.skipped
    # Data may be a property, and the variable reaches the process.
    monkeypatch.delenv("TPU_SKIP_MDS_QUERY", raising=False)
    sdk.write_text(
        "import os\n"
        + HEALTHY.replace("    def data", "    @property\n    def data")
        + "DATA['tpu_throttle_score'] = [os.environ['TPU_SKIP_MDS_QUERY']]"
    )
    assert [one.measured for one in read()] == [1, 0]
    monkeypatch.setenv("TPU_SKIP_MDS_QUERY", "7")
    assert [one.measured for one in read()] == [7, 0]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("import os; os.abort()", "SIGABRT"),
        ("raise SystemExit(0)", "without an answer"),
        ("1 / 0", "division by zero"),
        (None, "has no SDK"),
    ],
)
def test_an_sdk_that_does_not_work(sdk: Path, script: str | None, says: str) -> None:
    if script is not None:
        sdk.write_text(script)
    (only,) = read()
    assert only.what == "libtpu's SDK"
    assert says in only.skipped
    assert (only.measured, only.fault) == (None, "")
    assert script is not None or "Error" in only.detail


def test_one_that_hangs_is_ended(
    sdk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(steady.SDK_SECONDS, "quick", 1.0)  # type: ignore[arg-type]
    pid = tmp_path / "pid"
    sdk.write_text(
        "import os, threading\n"
        f"open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
        "threading.Event().wait()"
    )
    assert read(stop=True) == []
    (only,) = read()
    assert "within 1 s" in only.skipped
    if pid.exists():
        assert not Path(f"/proc/{pid.read_text()}").exists()


def test_without_a_tpu_there_is_nothing_to_read() -> None:
    cpu = Context(check("steady"), Survey(), lambda: False)
    assert list(steady.sdk_readings(cpu)) == []


def answer(**metrics: object) -> list[Reading]:
    output = f"noise\n{steady.MARK}{json.dumps(metrics)}\nmore noise\n"
    return list(steady.parse_metrics(Exit(output, "", 0), 5.0))


@pytest.mark.parametrize(
    ("scores", "fault", "doubt"),
    [
        (["a: 0", "b: 0"], "", ""),
        (["a: 0", "b: 1"], "", "transient problems on b (1)"),
        (["a: 5"], "", "transient problems on a (5)"),
        (["a: 6"], "", "persistent minor problems on a (6)"),
        (["a: 9", "b: 2"], "", "on a (9) and transient problems on b (2)"),
        (["tray1.chip3.ici1.int: 10"], "unusable: tray1.chip3.ici1.int (10)", ""),
        (["10", "0"], "unusable: link 0 (10)", ""),
    ],
)
def test_links(scores: list[str], fault: str, doubt: str) -> None:
    _, links = answer(ici_link_health=scores)
    assert fault in links.fault
    assert bool(fault) == bool(links.fault)
    assert doubt in links.doubt
    assert bool(doubt) == bool(links.doubt)
    assert links.measured == max(float(one.split()[-1]) for one in scores)


def test_throttling_names_the_chips_and_how_much() -> None:
    throttle, _ = answer(tpu_throttle_score=["0", "3", "0", "10"])
    assert (throttle.measured, throttle.fault) == (10, "")
    assert "chip 1 by 30 %, chip 3 by 100 %" in throttle.doubt


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        ({}, "does not have tpu_throttle_score"),
        ({"tpu_throttle_score": []}, "says nothing about tpu_throttle_score"),
        ({"tpu_throttle_score": ["n/a"]}, "'n/a', which is no score"),
        ({"tpu_throttle_score": "RuntimeError: no"}, "RuntimeError: no"),
    ],
)
def test_a_metric_that_says_nothing(metrics: dict[str, object], says: str) -> None:
    throttle, links = answer(**metrics)
    assert says in throttle.skipped
    assert links.skipped
    (broken,) = steady.parse_metrics(Exit(f"{steady.MARK}{{", "", 0), 5.0)
    assert "without an answer" in broken.skipped
