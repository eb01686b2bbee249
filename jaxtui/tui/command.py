"""What a key does, and how its keys are written."""

from __future__ import annotations

from jaxtui.model import Record


class Command(Record, frozen=True):
    """One thing that a person can do."""

    id: str
    keys: str
    """Comma-separated; the first is the one that the footer shows."""
    action: str
    label: str
    """For the footer: one or two words."""
    description: str
    """For palette and help: one sentence."""
    group: str
    footer: bool = False
    priority: bool = False
    tab: str | None = None
    """The only tab on which it means something, or several, comma-separated; ``None``
    for all."""

    @property
    def tabs(self) -> tuple[str, ...]:
        """The tabs on which it means something; empty for all."""
        return tuple(self.tab.split(",")) if self.tab else ()


_SPELLED = {
    "question_mark": "?",
    "colon": ":",
    "comma": ",",
    "full_stop": ".",
    "plus": "+",
    "equals_sign": "=",
    "minus": "-",
    "backslash": "\\",
    "enter": "Enter",
    "escape": "Esc",
    "space": "Space",
    "underscore": "_",
    "left": "Left",
    "right": "Right",
    "up": "Up",
    "down": "Down",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
}


def key_names(command: Command) -> str:
    """The keys as people write them: ``r F5``, ``? F1``, ``Ctrl+C``."""
    return " ".join(_key_name(key) for key in command.keys.split(","))


def _key_name(key: str) -> str:
    if key in _SPELLED:
        return _SPELLED[key]
    if key.startswith("ctrl+"):
        rest = key[5:]
        return f"Ctrl+{_SPELLED.get(rest, rest.upper())}"
    return key.upper() if len(key) > 1 else key
