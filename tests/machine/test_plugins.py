from __future__ import annotations

from email.message import Message

import pytest

from jaxtui.machine.plugins import Packages, packages


class Installed:
    """What ``importlib.metadata`` says of one distribution."""

    def __init__(self, name: str, version: str, *requires: str) -> None:
        self.metadata = Message()
        self.metadata["Name"] = name
        self.metadata["Version"] = version
        for requirement in requires:
            self.metadata["Requires-Dist"] = requirement


def test_what_is_installed_is_told_by_name():
    found = packages(
        [
            Installed(
                "jax", "0.12.0.1", "numpy>=2", 'libtpu==0.0.50.*; extra == "tpu"'
            ),
            Installed("jaxlib", "0.12.0.1"),
            Installed("libtpu", "0.0.50.1"),
            Installed("jax_cuda12_plugin", "0.12.0"),
            Installed("numpy", "2.5"),
        ]
    )
    assert found == Packages(
        jax="0.12.0.1",
        jaxlib="0.12.0.1",
        plugins={"jax-cuda12-plugin": "0.12.0", "libtpu": "0.0.50.1"},
        libtpu_pin="0.0.50.*",
    )
    assert found.for_maker("tpu") == {"libtpu": "0.0.50.1"}
    assert found.for_maker("cuda") == {"jax-cuda12-plugin": "0.12.0"}
    assert found.for_maker("rocm") == {}
    # JAX compares all numbers of a CUDA plugin with jaxlib's.
    assert found.mismatches() == {"jax-cuda12-plugin": "0.12.0.1"}


@pytest.mark.parametrize(
    ("plugins", "wanted"),
    [
        ({"libtpu": "0.0.5"}, {"libtpu": "0.0.50.*"}),
        ({"libtpu": "0.0.50"}, {}),
        ({"jax-cuda12-plugin": "0.11.2"}, {"jax-cuda12-plugin": "0.12.0.1"}),
        ({"jax-cuda12-plugin": "0.12.0.1"}, {}),
        ({"jax-cuda12-pjrt": "0.12.0.7"}, {}),
        ({"jax-cuda12-pjrt": "0.11.2"}, {"jax-cuda12-pjrt": "0.12.0.1"}),
        ({"jax-rocm7-plugin": "0.11.2"}, {}),
        ({"some-pjrt": "1"}, {}),
    ],
)
def test_versions_that_do_not_belong_together(plugins, wanted):
    found = Packages("0.12.0.1", "0.12.0.1", plugins, "0.0.50.*")
    assert found.mismatches() == wanted


def test_this_python_has_jax():
    assert packages().jax
    assert packages().jaxlib


def test_only_the_packages_that_matter_are_opened(tmp_path, monkeypatch):
    for name in ("jax-0.12.0", "jax_cuda12_plugin-0.12.0", "libtpu-0.0.50", "other-1"):
        folder = tmp_path / f"{name}.dist-info"
        folder.mkdir()
        project, _, version = name.partition("-")
        text = f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n"
        (folder / "METADATA").write_text(text)
    (tmp_path / "jaxtyping-1.dist-info").mkdir()  # an uninstallation broke off
    monkeypatch.setattr("sys.path", [str(tmp_path), str(tmp_path / "absent")])
    found = packages()
    assert found.jax == "0.12.0"
    assert found.plugins == {"jax-cuda12-plugin": "0.12.0", "libtpu": "0.0.50"}


def test_plugins_are_recognised_by_name():
    plugins = ("libtpu", "jax-cuda12-plugin", "jax-cuda13-pjrt", "jax-rocm60-plugin")
    others = ("jax", "jaxlib", "jaxtyping", "libtpu-tools")
    found = packages([Installed(name, "1.0") for name in (*plugins, *others)])
    assert set(found.plugins) == set(plugins)
