"""The picture of the study: accuracy over seconds and over tokens, and below it the difference to TRL."""

from pathlib import Path

import numpy as np
from study_tables import Runs, find_interval, seeds_of, smooth


COLORS = {"TRL": "#444444", "skip": "#d08a00", "selective": "#1f6fd0"}
"""The modes in the picture. More lines could not be told apart."""

BUDGETS = ((1, "CPU seconds", 1), (2, "generated tokens, in thousands", 1000))
"""Column of an evaluation, its name and its unit."""

POINTS = 80
"""Number of points of a line."""


def draw_picture(runs: Runs, tasks: list[str], file: Path) -> None:
    """Draw the mean accuracy of the modes on each task, and the mean difference to TRL with its 95 % interval."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    tasks = [task for task in tasks if seeds_of(task, "TRL", runs)]
    figure, axes = plt.subplots(
        2 * len(tasks),
        2,
        figsize=(11, 4.6 * len(tasks)),
        squeeze=False,
        height_ratios=[2, 1] * len(tasks),
        sharey="row",
    )
    for row, task in enumerate(tasks):
        for place, (column, name, unit) in enumerate(BUDGETS):
            above, below = axes[2 * row, place], axes[2 * row + 1, place]
            ends = []
            for mode, color in COLORS.items():
                seeds = seeds_of(task, mode, runs)
                if not seeds:
                    continue
                grid, (mine,) = follow([[runs[task, mode, seed] for seed in seeds]], column)
                above.plot(grid / unit, mine.mean(0), color=color, linewidth=1.8)
                ends.append((mine.mean(0)[-1], mode, grid[-1] / unit))
                if mode != "TRL":
                    grid, (mine, theirs) = follow(
                        [[runs[task, one, seed] for seed in seeds] for one in (mode, "TRL")], column
                    )
                    middle, half = np.array([find_interval([*values]) for values in (mine - theirs).T]).T
                    below.plot(grid / unit, middle, color=color, linewidth=1.6)
                    below.fill_between(grid / unit, middle - half, middle + half, color=color, alpha=0.13, linewidth=0)
            label_lines(above, ends)
            above.set_title(f"{task}: accuracy", loc="left", fontsize=10)
            below.set_title("difference to TRL, with its 95 % interval", loc="left", fontsize=9)
            below.axhline(0, color=COLORS["TRL"], linewidth=0.8)
            below.set_xlabel(name)
            for axis in (above, below):
                axis.grid(alpha=0.25)
                axis.set_xlim(0, max(end for *_, end in ends))
                axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(file, dpi=100)


def follow(sides: list[list[dict]], column: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return points up to the end of the shortest run, and for each side the accuracies of its runs there."""
    grid = np.linspace(0, min(run["seen"][-1][column] for side in sides for run in side), POINTS)
    return grid, [
        np.array([np.interp(grid, [seen[column] for seen in run["seen"]], smooth(run["seen"])) for run in side])
        for side in sides
    ]


def label_lines(axis, ends: list[tuple[float, str, float]]) -> None:
    """Write the name of each mode at the end of its line. Names that would overlap are moved apart."""
    low, high = axis.get_ylim()
    distance, heights = (high - low) * 0.09, []
    for end, *_ in sorted(ends):
        heights.append(max(end, heights[-1] + distance) if heights else end)
    excess = max(heights[-1] - high, 0.0)
    for (end, mode, where), height in zip(sorted(ends), heights, strict=True):
        color = COLORS[mode]
        axis.annotate(
            mode, (where, end), (1.02, (height - excess - low) / (high - low)), textcoords="axes fraction", color=color,
            va="center", fontsize=9, arrowprops={"arrowstyle": "-", "color": color, "alpha": 0.4, "shrinkB": 0},
        )  # fmt: skip
