import msgspec

from jaxtui.features.devices.messages import Devices
from jaxtui.features.devices.report import hosts_text
from tests.fake_engine import HOST, cpu_devices


def named(*names):
    return [msgspec.structs.replace(HOST, hostname=name) for name in names]


def test_hosts_are_named_once_and_many_are_counted():
    assert hosts_text(()) == ""
    text = hosts_text(named("a", "a", "b"))
    assert "3" in text
    assert text.endswith("a, b")
    assert "6 hosts" in hosts_text(named(*"abcdef"))


def test_without_devices_a_document_is_not_complete():
    assert not Devices.of(None, ()).complete


def test_a_document_has_the_hosts_of_several_processes_alone():
    alone = msgspec.to_builtins(Devices.of(HOST, cpu_devices(2)))
    assert "hosts" not in alone
    hosts = msgspec.to_builtins(Devices.of(HOST, cpu_devices(2), named("a", "b")))
    assert [one["hostname"] for one in hosts["hosts"]] == ["a", "b"]
