"""What a part of a screen has to say; the screen shows it where there is room."""

from __future__ import annotations

from textual.message import Message


class Said(Message):
    """A sentence for people.

    Args:
        words: the sentence; empty for none.
        problem: whether it says what is wrong.
    """

    def __init__(self, words: str, problem: bool = False) -> None:
        super().__init__()
        self.words = words
        self.problem = problem
