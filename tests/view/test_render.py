"""Reports as files."""

from __future__ import annotations

from xml.dom import minidom

from jaxtui.model import Remark
from jaxtui.plot import Picture, Series
from jaxtui.view import words
from jaxtui.view.render import as_svg, markdown, svg
from jaxtui.view.report import Report, Table, gather
from jaxtui.view.text import Span, columns

DAMAGED = Remark("damaged-rows", {"rows": 2})

REPORT = Report(
    title="selu",
    verdict=(Span("jit is "), Span("2×", "strong"), Span(" faster.")),
    tables=(Table(columns(("case", "ready"), [("a|b", "1 ms")], right=("ready",))),),
    remarks=gather([("a", [DAMAGED]), ("b", [])]),
    host="vm",
)


def texts(document: str) -> str:
    """What stands in an SVG."""
    nodes = minidom.parseString(document).getElementsByTagName("text")
    joined = "\n".join(node.firstChild.data for node in nodes if node.firstChild)
    return joined.replace("\xa0", " ")


def test_markdown_has_the_headline_the_tables_and_a_point_for_each_remark() -> None:
    assert markdown(REPORT).split("\n\n") == [
        "**jit is 2× faster.**",
        "| case | ready |\n| :-- | --: |\n| a\\|b | 1 ms |",
        f"- **{words.label(DAMAGED)}**: {words.text(DAMAGED)} – a",
        "vm\n",
    ]


def test_a_picture_has_the_plot_and_below_it_all_that_is_said() -> None:
    plotted = Picture((Series("jit", (1.0, 2.0), (1.0, 2.0)),), title="over size")
    with_plot = Report("selu", REPORT.verdict, REPORT.tables, picture=plotted)
    shown = texts(svg(with_plot))
    assert shown.index("over size") < shown.index("2×") < shown.index("a|b")
    assert "selu · vm" in texts(svg(REPORT))


def test_a_picture_keeps_blanks_colours_and_every_character() -> None:
    drawing = [
        (("a  <b> & ", None), ("⣿", (1, 2, 3)), (" {x}", None)),
        (),
        (("end", None),),
    ]
    document = as_svg(drawing, "1 < {2}")
    assert "a  <b> &" in texts(document)
    assert "1 < {2}" in texts(document)
    assert "#010203" in document
    assert "url(http" not in document.replace('"', "")
