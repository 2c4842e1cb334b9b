"""Tables of the study: what each mode costs, relative to TRL's `GRPOTrainer` under the same seed."""

import math
import statistics
from collections.abc import Callable, Iterable


Runs = dict[tuple[str, str, int], dict]
"""The result of each run, by task, mode and seed."""

LAST = 4
"""Number of evaluations at the end of a run whose mean is its final accuracy."""


def smooth(seen: list) -> list[float]:
    """Return the accuracies averaged over three neighbouring evaluations, or over two at both ends."""
    return [statistics.mean(row[3] for row in seen[max(0, place - 1) : place + 2]) for place in range(len(seen))]


def final_accuracy(result: dict) -> float:
    return statistics.mean(row[3] for row in result["seen"][-LAST:])


def cost_of_level(result: dict, level: float, column: int) -> float:
    """Return the interpolated generations (column 0), seconds (1) or tokens (2) to reach a level, or infinity if never."""
    seen, accuracies = result["seen"], smooth(result["seen"])
    for place in range(1, len(seen)):
        low, high = accuracies[place - 1 : place + 1]
        if low < level <= high:
            before, after = seen[place - 1][column], seen[place][column]
            return before + (level - low) / (high - low) * (after - before)
    return math.inf


LEVELS = (0.5, 0.8, 1.0)
"""Levels of accuracy, as shares of the way from the start to the final accuracy of TRL under the same seed."""


def costs_of_level(task: str, mode: str, runs: Runs, level: float, column: int) -> list[tuple[float, float]]:
    """Return the cost of a level in this mode and with TRL, for each seed."""
    found = []
    for seed in seeds_of(task, mode, runs):
        theirs, mine = runs[task, "TRL", seed], runs[task, mode, seed]
        start = theirs["seen"][0][3]
        wanted = start + level * (final_accuracy(theirs) - start)
        found.append((cost_of_level(mine, wanted, column), cost_of_level(theirs, wanted, column)))
    return found


def relative_costs(task: str, mode: str, runs: Runs, level: float, column: int) -> list[float]:
    """Return the cost of a level for each seed, relative to TRL's. A whole run is the cost of a level never reached."""
    whole = [[runs[task, one, x]["seen"][-1][column] for one in (mode, "TRL")] for x in seeds_of(task, mode, runs)]
    costs = costs_of_level(task, mode, runs, level, column)
    return [min(mine, wholes[0]) / min(theirs, wholes[1]) for (mine, theirs), wholes in zip(costs, whole, strict=True)]


def seeds_of(task: str, mode: str, runs: Runs) -> list[int]:
    """Return the seeds with a run in this mode and one of TRL."""
    return sorted(seed for kind, other, seed in runs if (kind, other) == (task, mode) and (task, "TRL", seed) in runs)


T_VALUES = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 12: 2.20, 16: 2.13}
"""Quantiles of Student's distribution for intervals of 95 %, by the number of seeds."""


def find_interval(values: list[float]) -> tuple[float, float]:
    """Return the mean and half of the width of its 95 % interval."""
    if len(values) < 2:
        return statistics.mean(values), math.inf
    t_value = T_VALUES[max(count for count in T_VALUES if count <= len(values))]
    return statistics.mean(values), t_value * statistics.stdev(values) / len(values) ** 0.5


def format_ratio(ratios: list[float]) -> str:
    """Return the geometric mean of ratios and its 95 % interval."""
    mean, half = find_interval([math.log(ratio) for ratio in ratios])
    return f"{math.exp(mean):.2f} ({math.exp(mean - half):.2f} to {math.exp(mean + half):.2f})"


def format_difference(differences: list[float]) -> str:
    mean, half = find_interval(differences)
    return f"{mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f})"


def make_table(task: str, runs: Runs, modes: Iterable[str], epoch: int) -> str:
    """Return the table of a task: ratios and differences to TRL under the same seed. An epoch has so many generations."""

    def share_live(result: dict) -> float:
        return statistics.mean(result["live"][:epoch])

    def differences(measure: Callable[[dict], float], mode: str) -> list[float]:
        return [measure(runs[task, mode, x]) - measure(runs[task, "TRL", x]) for x in seeds_of(task, mode, runs)]

    def whole_runs(mode: str) -> list[float]:
        sides = [[runs[task, one, x]["seen"][-1][1] for x in seeds_of(task, mode, runs)] for one in (mode, "TRL")]
        return [mine / theirs for mine, theirs in zip(*sides, strict=True)]

    shown = [mode for mode in modes if mode != "TRL" and seeds_of(task, mode, runs)]
    rows = {
        f"{unit} to {level:.0%} of TRL's gain": [format_ratio(relative_costs(task, x, runs, level, at)) for x in shown]
        for at, unit in ((1, "seconds"), (2, "tokens"))
        for level in LEVELS
    }
    rows["seconds of the whole run"] = [format_ratio(whole_runs(mode)) for mode in shown]
    rows["runs that never reach 100%"] = [
        str(sum(mine == math.inf for mine, _ in costs_of_level(task, mode, runs, 1.0, 1))) for mode in shown
    ]
    rows["final accuracy"] = [format_difference(differences(final_accuracy, mode)) for mode in shown]
    rows["live groups in the first epoch"] = [format_difference(differences(share_live, mode)) for mode in shown]
    rows["seeds"] = [str(len(seeds_of(task, mode, runs))) for mode in shown]
    theirs = [runs[task, "TRL", seed] for seed in seeds_of(task, "TRL", runs)]
    start, end, seconds, tokens, live = map(
        statistics.mean,
        zip(*((x["seen"][0][3], final_accuracy(x), *x["seen"][-1][1:3], share_live(x)) for x in theirs), strict=True),
    )
    return (
        f"{format_table(task, shown, rows)}\n\nTRL: accuracy from {start:.3f} to {end:.3f} in {seconds:.0f} s and "
        f"{tokens:,.0f} tokens, {live:.2f} of the groups of the first epoch are live (means of {len(theirs)} seeds)."
    )


def format_table(title: str, names: Iterable[str], rows: dict[str, list[str]]) -> str:
    """Return a Markdown table."""
    lines = [[title, *names], *([name, *cells] for name, cells in rows.items())]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
