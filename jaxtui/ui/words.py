"""The words of every remark: a short label, a sentence, and what to do about it.

They stand beside what finds or raises it: ``WORDS`` of ``words.py`` maps codes to
``Words``. The voice is that of JAX's own documentation: who does what, the number
first, what to do last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from jaxtui.core.engine import hosts_words
from jaxtui.core.engine import words as engine_words
from jaxtui.core.model.base import Record
from jaxtui.core.model.remark import Remark
from jaxtui.core.wording import Facts, Words, written
from jaxtui.machine import words as machine_words
from jaxtui.registry import parts

__all__ = ["TABLE", "Facts", "Words"]


class Failed(Protocol):
    """An event that ends without its result."""

    @property
    def remark(self) -> Remark: ...


TABLE: dict[str, Words] = {
    **engine_words.WORDS,
    **hosts_words.WORDS,
    **machine_words.WORDS,
    **{code: entry for part in parts("words") for code, entry in part.WORDS.items()},
}
"""By code; a feature has those of its own in its folder."""

LOST = "The engine died during the run: some results are missing. Run it again."
"""The text of a run whose engine died."""


def label(remark: Remark) -> str:
    """A noun phrase of one to three words; the code itself where it says as much."""
    words = TABLE.get(remark.code)
    return (words and words.label) or remark.code


def sentence(remark: Remark) -> str:
    """Return the sentence of a remark.

    A remark of a document says what it was written with; one whose code is not known,
    as of a later version, says its original text.
    """
    if remark.text is not msgspec.UNSET:
        return remark.text
    words = TABLE.get(remark.code)
    return written(words.text, remark.facts) if words else remark.detail or remark.code


def advice(remark: Remark) -> str:
    """Return the advice of a remark; may be empty."""
    words = TABLE.get(remark.code)
    if words is None or remark.text is not msgspec.UNSET:
        return ""
    return written(words.advice, remark.facts)


def brief(remark: Remark) -> str:
    """Return the sentence of a remark for any number of rows, in a line."""
    words = TABLE.get(remark.code)
    if words is not None and words.brief and remark.text is msgspec.UNSET:
        return written(words.brief, remark.facts)
    return sentence(remark).partition(". ")[0].rstrip(".")


def text(remark: Remark) -> str:
    """Return the sentence and the advice of a remark."""
    return f"{sentence(remark)} {advice(remark)}".rstrip()


def why(failed: Failed | None) -> str:
    """Return the sentence and the advice of a failure; empty where nothing failed."""
    return text(failed.remark) if failed is not None else ""


def in_full(failed: Failed) -> str:
    """Return the sentence and the advice of a failure, and below them the original
    text.
    """
    return "\n".join(filter(None, (why(failed), failed.remark.detail)))


def to_text(message: Remark | str) -> str:
    """A remark in words; a text as it is."""
    return message if isinstance(message, str) else text(message)


def with_text(record: object) -> object:
    """Return the record with the words of every remark: for a document."""
    if isinstance(record, Remark):
        return msgspec.structs.replace(record, text=text(record))
    if isinstance(record, Record):
        before = {name: getattr(record, name) for name in record.__struct_fields__}
        after = {name: with_text(value) for name, value in before.items()}
        changed = {
            name: after[name] for name in after if after[name] is not before[name]
        }
        return msgspec.structs.replace(record, **changed) if changed else record
    if isinstance(record, Sequence) and record and isinstance(record[0], Record):
        return tuple(with_text(item) for item in record)
    return record
