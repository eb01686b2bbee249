"""Remarks qualify, explain or refuse something: a code and its facts, no sentence."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, Union

import msgspec

from jaxtui.core.model.base import Record

Severity = Literal["error", "warning", "info"]
"""The weight of a remark: it will not work; it may not be what is wanted; good
to know."""

Fact = Union[bool, int, float, str, None, tuple[Union[int, float, str], ...]]  # noqa: UP007
"""A number in base SI units, a name, a code, or several of them."""


class Remark(Record, frozen=True, eq=False, omit_defaults=True):
    """The reason why a number, a device or a run is to be read with care, or is
    missing.

    The words of a code stand in ``jaxtui.ui.words``. Two remarks are equal that have
    the same code and the same facts.
    """

    code: str = msgspec.field(name="flag")
    facts: dict[str, Fact] = msgspec.field(default_factory=dict)
    severity: Severity = "info"
    detail: str = ""
    """The original text of XLA, CUDA, libtpu or an exception, kept whole."""
    text: str | msgspec.UnsetType = msgspec.UNSET
    """Its words, in documents only: those that it was written with."""

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Remark):
            return NotImplemented
        return (self.code, self.facts) == (other.code, other.facts)

    def __hash__(self) -> int:
        return hash(self.code)  # a dict has no hash


_Error = TypeVar("_Error", bound="RemarkError")


class SelectionError(ValueError):
    """An error: the typed words select nothing; its text tells the user so."""


class RemarkError(Exception):
    """Something cannot be, and a remark says why.

    Args:
        remark: why.
        text: the same in words, for those who read no codes.
    """

    def __init__(self, remark: Remark, text: str = "") -> None:
        super().__init__(text or remark.code)
        self.remark = remark

    @classmethod
    def of(cls: type[_Error], code: str, **facts: Fact) -> _Error:
        """Return the error with the remark of this code and these facts."""
        return cls(Remark(code, facts, "error"))
