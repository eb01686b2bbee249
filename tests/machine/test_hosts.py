import pytest

from jaxtui.machine.hosts import (
    is_launched,
    names_of,
    nodes_of,
    proxy,
    unproxied,
)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("", []),
        ("node1", ["node1"]),
        ("a,b", ["a", "b"]),
        (
            "node[001-003,007],login",
            ["node001", "node002", "node003", "node007", "login"],
        ),
        ("rack[1-2]-x", ["rack1-x", "rack2-x"]),
        ("node[a-b]", []),
    ],
)
def test_nodes_as_slurm_lists_them(text: str, nodes: list[str]) -> None:
    assert [*nodes_of(text)] == nodes


def test_a_list_of_nodes_has_an_end() -> None:
    assert len([*nodes_of("n[0-999999999]")]) == 10_000


@pytest.mark.parametrize(
    ("environment", "launched"),
    [
        ({}, False),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}, True),
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, False),
        ({"SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, True),
        ({"TPU_WORKER_ID": "1", "TPU_WORKER_HOSTNAMES": "a,b"}, True),
        ({"TPU_WORKER_ID": "0", "TPU_WORKER_HOSTNAMES": "localhost"}, False),
        ({"MEGASCALE_NUM_SLICES": "2"}, True),
        ({"MEGASCALE_NUM_SLICES": "1"}, False),
    ],
)
def test_what_launchers_leave(environment: dict[str, str], launched: bool) -> None:
    assert is_launched(environment) is launched


def test_names_of_hosts() -> None:
    tpu = {"TPU_WORKER_HOSTNAMES": "a, b"}
    assert names_of(tpu, 2) == ("a", "b")
    assert names_of(tpu, 3) == ()
    assert names_of({**tpu, "TPU_PROCESS_ADDRESSES": "c:1,d:2"}, 2) == ("c:1", "d:2")
    slurm = {"SLURM_STEP_NODELIST": "n[1-2]"}
    assert names_of(slurm, 4) == ("n1", "n1", "n2", "n2")
    assert names_of(slurm, 3) == ()
    assert names_of({}, 2) == ()


@pytest.mark.parametrize(
    ("environment", "coordinator", "exempt"),
    [
        ({}, "127.0.0.1:1234", "127.0.0.1"),
        ({"no_proxy": "a,b"}, "node-0:1", "a,b,node-0"),
        # What gRPC would have gone by.
        ({"no_proxy": "a", "no_grpc_proxy": "b"}, "node-0:1", "b,node-0"),
        ({}, "[::1]:1234", "::1"),
    ],
)
def test_the_coordinator_is_reached_without_a_proxy(
    environment: dict[str, str], coordinator: str, exempt: str
) -> None:
    assert unproxied(environment, coordinator) == {"no_grpc_proxy": exempt}


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"HTTP_PROXY": "x"}, ""),
        ({"http_proxy": "x"}, "http_proxy"),
        ({"http_proxy": "x", "https_proxy": "y"}, "https_proxy"),
        ({"http_proxy": "x", "grpc_proxy": ""}, ""),
    ],
)
def test_the_proxy_that_grpc_uses(environment: dict[str, str], name: str) -> None:
    assert proxy(environment) == name
