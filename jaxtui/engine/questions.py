"""The plans that somebody waits for, across the deaths of engines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from jaxtui.engine.interface import EngineUnavailableError
from jaxtui.engine.protocol import PlanRequest
from jaxtui.model import EngineFailed, Experiment, Plan, Planned


@dataclass
class _Question:
    request: PlanRequest
    answer: asyncio.Future[Plan]
    asked: int = 1


class Questions:
    """Numbers plan requests and hands each answer to the one who asked."""

    def __init__(self) -> None:
        """Begin with none."""
        self._open: dict[int, _Question] = {}
        self._count = 0

    async def ask(
        self,
        experiment: Experiment,
        send: Callable[[PlanRequest], None],
        *,
        recipes: bool,
    ) -> Plan:
        """Send a question and wait for its answer.

        Raises:
            EngineUnavailableError: It was refused.
        """
        self._count += 1
        number = self._count
        request = PlanRequest(request=number, experiment=experiment, recipes=recipes)
        question = _Question(request, asyncio.get_running_loop().create_future())
        self._open[number] = question
        send(request)
        try:
            return await question.answer
        finally:
            self._open.pop(number, None)

    def answer(self, planned: Planned) -> None:
        """Hand over an answer; one that nobody waits for any more is dropped."""
        question = self._open.pop(planned.request, None)
        if question is not None and not question.answer.done():
            question.answer.set_result(planned.plan)

    def ask_again(self, send: Callable[[PlanRequest], None]) -> None:
        """Put the open questions to the next engine, each at most once."""
        for question in tuple(self._open.values()):
            if question.asked == 1:
                question.asked = 2
                send(question.request)
            else:
                _refuse(question, "The engine died twice over this plan.", None)

    def refuse_all(self, error: str, failed: EngineFailed | None) -> None:
        """There will be no answers."""
        for question in tuple(self._open.values()):
            _refuse(question, error, failed)


def _refuse(question: _Question, error: str, failed: EngineFailed | None) -> None:
    if not question.answer.done():
        question.answer.set_exception(EngineUnavailableError(error, failed))
