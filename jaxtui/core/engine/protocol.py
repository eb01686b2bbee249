"""The messages between the two processes: one JSON object per line.

Requests go down one private pipe, envelopes with events come up another.
"""

from __future__ import annotations

from functools import cache
from typing import Union

import msgspec

from jaxtui.core.model import Event, Experiment, Record, Work
from jaxtui.core.model.base import encoded

MAX_LINE_BYTES = 64 * 1024 * 1024
"""An event with every sample of a long run is large; the reader's limit must be too."""


class PlanRequest(Record, frozen=True, kw_only=True, tag="Plan", omit_defaults=True):
    """Ask what an experiment would need; answered by ``Planned``."""

    request: int
    experiment: Experiment
    recipes: bool = False
    """Say as well how to do it without jaxtui."""


class RunRequest(Record, frozen=True, kw_only=True, tag="Run"):
    """Start a run; answered by its events. There is one at a time."""

    run: int
    work: Work


class StopRequest(Record, frozen=True, kw_only=True, tag="Stop"):
    """End the run within one turn."""

    run: int


class MemoryRequest(Record, frozen=True, kw_only=True, tag="Memory"):
    """Ask for fresh ``memory_stats()``; answered by ``Memory`` between runs."""


class GoodbyeRequest(Record, frozen=True, kw_only=True, tag="Goodbye"):
    """The UI ends in good order: exit, and leave the terminal alone."""


Request = Union[  # noqa: UP007
    PlanRequest, RunRequest, StopRequest, MemoryRequest, GoodbyeRequest
]


class Envelope(Record, frozen=True, kw_only=True):
    """An event with where it came from."""

    generation: int
    """The number of the engine process that sent it, counted from 1."""
    run: int | None
    """The run that it belongs to; ``None`` for the engine's own events."""
    event: Event


def encode(message: object) -> bytes:
    # A path, or the text of a user's exception, may hold what is no UTF-8.
    return encoded(message) + b"\n"


def decode_request(line: bytes) -> Request:
    """Raises ``msgspec.DecodeError`` if the line is no request."""
    return _request_decoder().decode(line)


def decode_envelope(line: bytes) -> Envelope:
    """Raises ``msgspec.DecodeError`` if the line is no envelope."""
    return _envelope_decoder().decode(line)


# Made when first used: it takes milliseconds, and each side needs only one of them.


@cache
def _request_decoder() -> msgspec.json.Decoder[Request]:
    return msgspec.json.Decoder(Request)


@cache
def _envelope_decoder() -> msgspec.json.Decoder[Envelope]:
    return msgspec.json.Decoder(Envelope)
