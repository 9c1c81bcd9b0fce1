"""The picture of the README, from the figures in ``benchmarks/RESULTS.md``: ``python -m tools.figures`` draws it.

An SVG of a few kilobytes, with colours for light and dark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
PICTURE = ROOT / "docs" / "images" / "speed.svg"
MEASURED = "2026-11-26"
"""The day of the runs that the picture shows."""
MILLION = 1e6
UNITS = {"": 1.0, "k": 1e3, "M": 1e6}
WIDTH, LABEL, BAR, ROW, TITLE = 760, 210, 430, 24, 34


@dataclass(frozen=True)
class Chart:
    """One line of results with several peers: what is measured, and the peers by their names in the results."""

    title: str
    case: str
    measure: str
    peers: tuple[tuple[str, str], ...]
    """The name of each peer in the results, and the words of the picture."""


CHARTS = (
    Chart(
        "Decode log records of ten mixed columns, one thread",
        "mixed",
        "decode",
        (
            ("Java, best flags", "Hudi 1.2.0, Java, best flags"),
            ("Java, G1", "Hudi 1.2.0, Java, defaults"),
            ("fastavro", "fastavro"),
        ),
    ),
    Chart(
        "Read a million rows under a million updates in logs",
        "slice",
        "read",
        (("hudi 0.5.0", "hudi-rs 0.5.0"), ("Hudi 1.2.0 on Spark, two cores", "Hudi 1.2.0 on Spark")),
    ),
    Chart(
        "Upsert a million rows on Spark, two cores",
        "spark",
        "upsert",
        (("Hudi 1.2.0 on Spark, two cores", "Hudi 1.2.0"),),
    ),
)
STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de } text { font: 13px sans-serif; fill: #1f2328 }
  .title { font-weight: bold } .note { font-size: 11px; fill: #59636e } .ours { fill: #1f6feb } .peer { fill: #afb8c1 }
  @media (prefers-color-scheme: dark) {
    .card { fill: #161b22; stroke: #30363d } text { fill: #e6edf3 } .note { fill: #9198a1 }
    .ours { fill: #4493f8 } .peer { fill: #59636e }
  }
"""


def rate(text: str) -> float:
    """Rows per second out of ``1.7 M rows/s`` or ``563 k``."""
    match = re.match(r"([\d.]+) ?([kM]?)\b", text)
    if match is None:
        raise ValueError(f"expected a rate such as 1.7 M rows/s, found {text!r}")
    return float(match[1]) * UNITS[match[2]]


def measured(chart: Chart, results: str) -> list[tuple[str, float]]:
    """The rates of hudiformat and of each peer, in the order of the chart."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in results.splitlines() if line.startswith("|")]
    lines = [line for line in cells if line[:2] == [chart.case, chart.measure]]
    by_peer = {line[3]: line for line in lines}
    ours = ("hudiformat", rate(by_peer[chart.peers[0][0]][2]))
    return [ours, *((words, rate(by_peer[peer][4])) for peer, words in chart.peers)]


def picture(results: str) -> str:
    """The picture as SVG."""
    parts: list[str] = []
    y = 12
    for chart in CHARTS:
        bars = measured(chart, results)
        parts.append(f'  <text class="title" x="16" y="{y + 18}">{chart.title}</text>')
        y += TITLE
        most = max(value for _, value in bars)
        for name, value in bars:
            kind, length = "ours" if name == "hudiformat" else "peer", max(round(BAR * value / most), 2)
            parts.append(f'  <text x="{LABEL - 8}" y="{y + 13}" text-anchor="end">{name}</text>')
            parts.append(f'  <rect class="{kind}" x="{LABEL}" y="{y}" width="{length}" height="16" rx="2"/>')
            parts.append(f'  <text x="{LABEL + length + 8}" y="{y + 13}">{words_of(value)}</text>')
            y += ROW
        y += 6
    note = f"Rows per second, {MEASURED}, AMD EPYC, two cores. Also what is slower: benchmarks/RESULTS.md"
    parts.append(f'  <text class="note" x="16" y="{y + 12}">{note}</text>')
    size = f'width="{WIDTH}" height="{y + 28}" viewBox="0 0 {WIDTH} {y + 28}"'
    card = f'  <rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{y + 27}" rx="6"/>'
    body = "\n".join([card, *parts])
    title = "<title>Rows per second of hudiformat and its peers</title>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n{title}\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def words_of(value: float) -> str:
    """A rate in words: 1.7 million, 563,000."""
    return f"{value / MILLION:.3g} million" if value >= MILLION else f"{value:,.0f}"


if __name__ == "__main__":
    PICTURE.write_text(picture(RESULTS.read_text("utf-8")), "utf-8")
