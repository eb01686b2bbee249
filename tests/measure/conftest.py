from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jaxtui.tasks import ops


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Puts a changed copy of an op into the catalogue for one test."""

    def plant(of: str, **changes: Any) -> str:
        name = f"planted_{of}"
        monkeypatch.setitem(ops.OPS, name, replace(ops.get(of), name=name, **changes))
        return name

    return plant
