"""Draw what the number of completions of a group changes, over the pass rate, for docs/trainer.md.

    python scripts/draw_group_sizes.py            # writes docs/group_size.svg

A picture without a library that draws: it is one text, so a test compares it with the file.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from trl_grpo_rewards.report.group_sizes import SIZES, find_live_share


FILE = Path(__file__).parents[1] / "docs" / "group_size.svg"
COLORS = ("#4a86c0", "#3a76b1", "#2c66a1", "#1f558e", "#143f70", "#0a2c52")  # from light to dark, as k grows
INK = "#333333"
WIDTH = 640
PANEL = 300  # height of a chart with its title and its axis
LEFT, RIGHT = 60, 590  # ends of the horizontal axis
TOP, BOTTOM = 44, 250  # ends of the vertical axis, from the top of a chart
LOWEST, HIGHEST = 0.005, 0.5  # pass rates; above a half, the charts repeat themselves
POINTS = 120
TEXT = 'font-family="sans-serif" font-size="17"'
CROSSED = 0.5  # share of live groups at which a line of the first chart has its name


class Chart(NamedTuple):
    title: str
    value: Callable[[float, int], float]
    ends: tuple[float, float]  # of the vertical axis
    ticks: tuple[float, ...]
    is_logarithmic: bool
    shifts: dict[int, int]  # pixels by which names of lines are moved down, so that they do not lie on one another


def find_error(rate: float, size: int) -> float:
    return math.sqrt(rate * (1 - rate) / size)


def count_completions(rate: float, size: int) -> float:
    return size / find_live_share(rate, size)


LIVE = Chart("Share of live groups", find_live_share, (0, 1), (0, 0.5, 1), False, {})
CHARTS = (
    LIVE,
    Chart("Standard error of a group's mean", find_error, (0, 0.36), (0, 0.1, 0.2, 0.3), False, {32: -3, 64: 5}),
    Chart(
        "Completions sampled for each live group", count_completions, (3, 384), (4, 16, 64, 256), True, {2: 9, 4: -5}
    ),
)


def list_rates() -> list[float]:
    """Return pass rates at equal distances on the axis, which is logarithmic."""
    return [LOWEST * (HIGHEST / LOWEST) ** (place / POINTS) for place in range(POINTS + 1)]


def place_x(rate: float) -> float:
    return LEFT + (RIGHT - LEFT) * math.log(rate / LOWEST) / math.log(HIGHEST / LOWEST)


def place_y(chart: Chart, value: float) -> float:
    low, high = chart.ends
    share = math.log(value / low) / math.log(high / low) if chart.is_logarithmic else (value - low) / (high - low)
    return BOTTOM - (BOTTOM - TOP) * share


def write(x: float, y: float, text: str, anchor: str = "middle", color: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" {TEXT}>{text}</text>'


def draw_line(chart: Chart, size: int, color: str) -> list[str]:
    """Return the part of a size's line that is inside the chart, with its name."""
    inside = [rate for rate in list_rates() if chart.value(rate, size) <= chart.ends[1]]
    points = " ".join(f"{place_x(rate):.1f},{place_y(chart, chart.value(rate, size)):.1f}" for rate in inside)
    line = f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2.5"/>'
    return [line, write_name(chart, size, color)]


def write_name(chart: Chart, size: int, color: str) -> str:
    """Return the name of a line: left of where half of the groups are live, or at the right end."""
    if chart is LIVE and size > 2:
        rate = next(rate for rate in list_rates() if find_live_share(rate, size) >= CROSSED)
        return write(place_x(rate) - 8, place_y(chart, CROSSED) - 6, str(size), "end", color)
    y = place_y(chart, chart.value(HIGHEST, size)) + 6 + chart.shifts.get(size, 0)
    return write(RIGHT + 8, y, str(size), "start", color)


def draw_chart(chart: Chart) -> list[str]:
    parts = [write(LEFT, 24, chart.title, "start")]
    for value in chart.ticks:
        y = place_y(chart, value)
        parts.append(f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(write(LEFT - 8, y + 6, f"{value:g}", "end"))
    for rate in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
        parts.append(write(place_x(rate), BOTTOM + 22, f"{rate:g}"))
    for size, color in zip(SIZES, COLORS, strict=True):
        parts += draw_line(chart, size, color)
    return parts


def draw() -> str:
    height = PANEL * len(CHARTS) + 24
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
    ]
    lines.append(f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>')
    for place, chart in enumerate(CHARTS):
        lines.append(f'<g transform="translate(0 {PANEL * place})">')
        lines += draw_chart(chart)
        lines.append("</g>")
    lines.append(write((LEFT + RIGHT) / 2, height - 10, "pass rate p, or 1 − p if that is smaller; a line for each k"))
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    FILE.write_text(draw(), "utf-8")
