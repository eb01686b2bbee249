"""What JAX detects in an environment, and whether process 0 can be reached."""

from __future__ import annotations

from typing import Any

import pytest

from jaxtui.core.engine import cluster as hosts
from jaxtui.core.model import Place
from jaxtui.machine.hosts import heartbeat_seconds
from jaxtui.tasks.errors import RefusedError

SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_NODELIST": "node[1-2]",
    "SLURM_NTASKS": "2",
    "SLURM_PROCID": "1",
    "SLURM_LOCALID": "0",
    "SLURM_STEP_NUM_NODES": "2",
}


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in SLURM.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("OMPI_MCA_orte_hnp_uri", raising=False)
    return monkeypatch


def test_jax_detects_the_place_of_a_process(slurm: Any) -> None:
    place = hosts.detect()
    assert place is not None
    assert (place.processes, place.process) == (2, 1)
    assert place.coordinator.startswith("node1:")
    assert place.launcher == "slurm"


def test_one_process_of_one_is_alone(slurm: Any) -> None:
    slurm.setenv("SLURM_NTASKS", "1")
    assert hosts.detect() is None


def test_a_place_that_cannot_be_read_is_no_place(slurm: Any) -> None:
    slurm.setenv("SLURM_JOB_ID", "seven")
    with pytest.raises(RefusedError) as refused:
        hosts.detect()
    remark = refused.value.remark
    assert (remark.code, remark.severity) == ("cluster-unreadable", "warning")
    assert remark.facts["launcher"] == "slurm"


OPEN_MPI = {
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "PMIX_NAMESPACE": "prterun-node-1-315@1",
}


def test_open_mpi_5_says_the_place_of_a_process() -> None:
    place = hosts.open_mpi(OPEN_MPI)
    port = 61440 + 316
    assert place == Place(f"node-1:{port}", 4, 3, (1,), "ompi")
    here = hosts.open_mpi({**OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "4"})
    assert here is not None
    assert here.coordinator == f"127.0.0.1:{port}"
    assert hosts.open_mpi({**OPEN_MPI, "OMPI_COMM_WORLD_SIZE": "1"}) is None
    assert hosts.open_mpi({}) is None
    with pytest.raises(RefusedError) as refused:
        hosts.open_mpi({**OPEN_MPI, "PMIX_NAMESPACE": "other"})
    assert refused.value.remark.code == "cluster-unknown"


@pytest.mark.parametrize(
    ("text", "seconds"), [("", 10), ("3", 3), ("0", 10), ("x", 10), ("-1", 10)]
)
def test_the_heartbeat_is_a_number_of_seconds(text: str, seconds: int) -> None:
    assert heartbeat_seconds({"JAXTUI_HEARTBEAT": text}) == seconds
    assert heartbeat_seconds({}) == 10
