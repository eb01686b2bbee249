"""The time of a step: a bar on top, the source with heat, its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.widgets import OptionList

from jaxtui.core.engine import traces
from jaxtui.core.model import WorkFailed
from jaxtui.core.model.profile import Profile, Profiling
from jaxtui.core.model.remark import SelectionError
from jaxtui.features.bench.case_screen import CaseScreen
from jaxtui.features.profile import report as view
from jaxtui.features.profile.judge import KEYS, By, Row, headline
from jaxtui.features.profile.report import lists
from jaxtui.ui import words
from jaxtui.ui.app.base import BaseApp
from jaxtui.ui.app.line import LineScreen
from jaxtui.ui.app.modal import modal_keys
from jaxtui.ui.app.pane import WIDE_COLUMNS
from jaxtui.ui.app.status import MessageLine, StatusLine
from jaxtui.ui.report import Fitted, styled, terminal
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.widgets.keys_line import KeysLine
from jaxtui.ui.widgets.panel import Hint, Panel, PanelList, hint

_KEYS = (
    ("escape,q", "back", "Back", "Show all lines and kernels again, then the tabs."),
    ("g", "view", "View", "Kernels by op, category, shape, function or line."),
    ("r,f5", "again", "Again", "Profile the case again."),
    ("y", "copy", "Copy", "Copy the report, also to a file next to the history."),
)

VIEWS: tuple[By, ...] = ("op", *(key for key in KEYS if key != "op"))
"""The keys of the table, in the order in which they come."""


class SourceList(PanelList):
    """The user's lines, with heat in the margin."""


class RowList(PanelList):
    """The kernels, by one key."""


class ProfileScreen(CaseScreen):
    """A profile: its step on top, below it the source and the kernels.

    Args:
        profiling: what to profile; or
        trace: the file or folder to read.
    """

    WORK, PURPOSE = Profiling, "profile"
    HELP: ClassVar[str] = "In a profile"

    BINDINGS: ClassVar[list[BindingType]] = modal_keys("profile", _KEYS)

    DEFAULT_CSS = """
    ProfileScreen {
        #step { height: auto; }
        #parts { height: 1fr; layout: vertical; }
        #source, #rows { height: 1fr; width: 1fr; }
        OptionList {
            height: 1fr; background: $background;
            &:focus { background-tint: transparent; }
        }
        &.-wide #parts { layout: horizontal; }
        &.-waiting #parts { display: none; }
    }
    """

    def __init__(
        self, profiling: Profiling | None = None, trace: Path | None = None
    ) -> None:
        super().__init__(profiling)
        self._trace = trace
        self._profile: Profile | None = None
        self._failed: WorkFailed | None = None
        self._by: By = "op"
        self._line: lists.SourceLine | None = None
        """The line whose kernels are shown alone."""
        self._row: Row | None = None
        """The row whose lines are shown alone."""
        self._lines: Sequence[lists.SourceLine] = ()
        self._rows: Sequence[Row] = ()
        self._complete = False
        """All of its parts are there."""

    def compose(self) -> ComposeResult:
        yield StatusLine(self.base.clock).data_bind(ProfileScreen.state)
        with Panel(id="step"):
            yield Sheet()
        with Container(id="parts"):
            with Panel("source", id="source"):
                yield SourceList()
            with Panel("kernels", id="rows"):
                yield RowList()
        yield MessageLine().data_bind(ProfileScreen.state)
        yield KeysLine()

    def on_mount(self) -> None:
        self.add_class("-waiting")
        title = self.work.case.label if self.work else str(self._trace)
        self.query_one("#step", Panel).set_title(title)
        # Until then there are no parts to write into.
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._complete = True
        if self._trace is not None:
            self.run_worker(self._read(self._trace))
        self.draw()

    def on_resize(self) -> None:
        self.set_class(self.size.width >= WIDE_COLUMNS, "-wide")
        self._draw()

    async def _read(self, trace: Path) -> None:
        profile = await traces.read(trace)
        if isinstance(profile, Profile):
            self._take(profile)
        else:
            self._failed = profile
            self._draw()

    def draw(self) -> None:
        result = self.job.result if self.job else None
        if isinstance(result, Profile) and result is not self._profile:
            self._take(result)
        else:
            self._draw()

    def _take(self, profile: Profile) -> None:
        if not self._complete:
            return
        self._profile = profile
        self._line = self._row = None
        self.remove_class("-waiting")
        self._draw()
        if self._lines:
            hottest = max(self._lines, key=lambda line: line.share)
            self.query_one(SourceList).highlighted = self._lines.index(hottest)
        self.query_one(SourceList if self._lines else RowList).focus()

    # What is drawn.

    def _draw(self) -> None:
        if not self._complete:
            return
        self.query_one("#step", Panel).query_one(Sheet).content = Fitted(self._head)
        if self._profile is None:
            return
        self._lines = lists.source_lines(self._profile, self._row)
        self._rows = lists.rows_of(self._profile, self._by, self._line)
        source, rows = self.query_one(SourceList), self.query_one(RowList)
        source.fill(map(lists.source_text, self._lines))
        width = max(rows.content_size.width, 30)
        rows.fill(lists.row_lines(self._profile, self._rows, self._by, width))
        about = f" of {self._line.name}" if self._line else ""
        self.query_one("#rows", Panel).set_title(
            f"kernels by {self._by}{about}",
            [hint(self, "view", f"by {self._next}"), Hint("Enter", "lines", "enter")],
        )
        about = f" of {self._row.key}" if self._row else ""
        self.query_one("#source", Panel).set_title(
            f"source{about}", [Hint("Enter", "kernels", "enter")]
        )

    def _head(self, width: int) -> list[Text]:
        if self._profile is None:
            return [styled(line) for line in self.waiting.split("\n")]
        sentence = words.sentence(headline(self._profile))
        return [styled(sentence, "strong"), *view.step_bar(self._profile, width)]

    @property
    def waiting(self) -> str:
        if self._failed is not None:
            return words.in_full(self._failed)
        return super().waiting if self.work else "Reading the trace …"

    # Keys.

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if isinstance(event.option_list, SourceList):
            line = self._lines[event.option_index]
            if self._profile and not lists.rows_of(self._profile, self._by, line):
                self.base.say("No kernel comes from this line.")
                return
            self._line, self._row = (None if line == self._line else line), None
            list_type: type[PanelList] = RowList
        else:
            row = self._rows[event.option_index]
            if self._profile and not lists.source_lines(self._profile, row):
                self.base.say("This kernel comes from no line of yours.")
                return
            same = self._row is not None and row.key == self._row.key
            self._row, self._line = (None if same else row), None
            list_type = SourceList
        self._draw()
        self.query_one(list_type).focus()

    def why_not(self, action: str) -> str | None:
        if action in ("view", "copy") and self._profile is None:
            return "No profile yet."
        if action == "again" and self.work is None:
            return "jaxtui reads a trace once."
        return None

    @property
    def _next(self) -> By:
        return VIEWS[(VIEWS.index(self._by) + 1) % len(VIEWS)]

    def action_view(self) -> None:
        self._by = self._next
        self._draw()

    def action_again(self) -> None:
        if self.work is not None and not self.base.session.state.busy:
            self.base.start(self.work, self.PURPOSE)

    def action_copy(self) -> None:
        if self._profile is not None:
            report = terminal(view.report(self._profile), None)
            self.base.copy_to_file(f"{report}\n", "profile.txt")

    def action_back(self) -> None:
        if self._line or self._row:
            self._line = self._row = None
            self._draw()
            return
        self.leave(self.PURPOSE)


class OpenTrace(LineScreen):
    """Dismissed with the path of a trace."""

    def __init__(self) -> None:
        example = "/tmp/trace, or host.xplane.pb"
        super().__init__("a trace of jax.profiler", "take", placeholder=example)

    async def take(self, typed: str) -> str:
        path = Path(typed.strip()).expanduser()
        if not typed.strip() or not path.exists():
            raise SelectionError(f'There is no file or folder "{typed.strip()}".')
        return str(path)


def open_trace(app: BaseApp) -> None:
    """Ask for a trace, and show where its time goes."""

    def show(path: str | None) -> None:
        if path:
            app.push_screen(ProfileScreen(trace=Path(path)))

    app.push_screen(OpenTrace(), show)
