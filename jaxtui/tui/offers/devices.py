"""What the tab Devices has to export: the machine, and its check."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jaxtui.document import check_results, devices_document, encode
from jaxtui.export import named, stamp
from jaxtui.tui.offers.offer import Format, Offer, at_once, formats
from jaxtui.view.check import written

if TYPE_CHECKING:
    from jaxtui.tui.state import State
    from jaxtui.view.check import Report


def of_check(state: State, report: Report) -> Offer:
    """The health check, and the devices."""

    def document() -> str:
        exam = report.exam
        results = check_results(
            state.host,
            state.devices,
            report.judged,
            level=exam.level if exam else "quick",
            baseline=None,
            outcome=(exam.outcome if exam else None) or "cancelled",
        )
        return encode(results).decode()

    def text() -> str:
        return written(report)

    every = "every reading and verdict, as jaxtui check --json"
    words = "the verdicts and their reasons, in words"
    check = formats(
        named("check", _hostname(state), stamp()),
        (".json", every, at_once(document)),
        (".txt", words, at_once(text)),
    )
    return Offer(what="the health check", formats=(*check, *_devices(state)))


def of_devices(state: State) -> Offer:
    """What the machine has."""
    return Offer(what="the devices of this machine", formats=_devices(state))


def with_devices(offer: Offer, state: State) -> Offer:
    """An offer of the tab Devices: what the machine has can be written as well."""
    return replace(offer, formats=(*offer.formats, *_devices(state)))


def _devices(state: State) -> tuple[Format, ...]:
    def document() -> str:
        return encode(devices_document(state.host, state.devices)).decode()

    holds = "what JAX sees on this machine, as jaxtui devices --json"
    stem = named("devices", _hostname(state), stamp())
    return formats(stem, (".json", holds, at_once(document)))


def _hostname(state: State) -> str:
    return state.host.hostname if state.host else ""
