"""The statistics of scored completions, as text that fits a screen and as JSON."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from ..batch import completion_text, prompt_text
from ..records.completions import Group
from ..records.rescoring import Difference, ScoredGroup, Tally
from ..score_tables import format_score
from ..scores import Score
from .output import count, cut, format_table, make_printable, measure_screen


QUARTILES = (0, 0.25, 0.5, 0.75, 1)

MAX_LISTED = 4
"""Largest number of different scores that are listed with their shares. More scores are summarized by quartiles."""

WHOLE = (1_000_000, 1000)
"""Columns and lines for all details, which are not cut."""

DETAILS_HINT = "\n\n--details shows the table and the examples in full."
"""End of a summary in which something is left out."""


def describe_scores(tally: Tally, difference: Difference | None) -> dict[str, Any]:
    """Return the statistics with stable keys, for JSON."""
    return {
        "groups": tally.groups,
        "dead_groups": tally.dead,
        "rows": tally.scores["total"].total(),
        "rewards": [describe_reward(tally, name) for name in tally.scores],
        "surprising": [
            {"surprise": surprise, "total": scored.totals[row], **describe_row(scored.group, row)}
            for surprise, _, row, scored in list_surprising(tally)
        ],
        "difference": describe_difference(difference) if difference else None,
    }


def describe_reward(tally: Tally, name: str) -> dict[str, Any]:
    """Return the statistics of one reward, or of the total. A value that is not known is None."""
    scores = keep_known(tally.scores[name])
    shares = list_shares(scores)
    values, seconds = sorted(scores.elements()), sorted(tally.seconds.get(name, ()))
    same, seen = tally.matches.get(name, (0, 0))
    return {
        "name": name,
        "mean": sum(values) / len(values) if values else None,
        "unscored": tally.scores[name][None],
        "shares": [{"score": score, "share": share} for score, share in shares] if shares else None,
        "quartiles": [get_quantile(values, share) for share in QUARTILES] if values else None,
        "milliseconds": {"p50": 1000 * get_quantile(seconds, 0.5), "p99": 1000 * get_quantile(seconds, 0.99)}
        if seconds
        else None,
        "as_recorded": same / seen if seen else None,
    }


def list_shares(scores: "Counter[float]") -> list[tuple[float, float]]:
    """Return the different scores with their shares, or nothing if there are too many to list."""
    if len(scores) > MAX_LISTED:
        return []
    return [(score, number / scores.total()) for score, number in sorted(scores.items())]


def describe_difference(difference: Difference) -> dict[str, Any]:
    return {
        "equal": difference.equal,
        "more": difference.up,
        "less": difference.down,
        "dead_groups": difference.dead,
        "examples": [
            {"before": then, "now": now, **describe_row(scored.group, row)}
            for way in ("up", "down")
            for then, now, scored, row in difference.examples[way]
        ],
    }


def describe_row(group: Group, row: int) -> dict[str, str]:
    prompts = group.columns.get("prompts")
    return {
        "prompt": prompt_text(prompts[row]) if prompts else "",
        "completion": completion_text(group.columns["completions"][row]),
    }


def keep_known(scores: "Counter[Score]") -> "Counter[float]":
    return Counter({score: number for score, number in scores.items() if score is not None})


def get_quantile(values: Sequence[float], share: float) -> float:
    """Return the sorted value below which this share of the values lies."""
    return values[round(share * (len(values) - 1))]


def list_surprising(tally: Tally) -> list[tuple[float, int, int, ScoredGroup]]:
    """Return the most surprising rows, the most surprising one first."""
    return sorted((entry for entry in tally.surprising if entry[0] > 0), key=lambda entry: -entry[0])


def summarize_scores(tally: Tally, difference: Difference | None, *, has_details: bool) -> str:
    """Return a table of the rewards, the difference to the old rewards, and examples, as text that fits a screen."""
    whole = format_summary(tally, difference, *WHOLE)
    if has_details:
        return whole
    columns, lines = measure_screen()
    shown = format_summary(tally, difference, columns, lines - DETAILS_HINT.count("\n"))
    return shown if shown == whole else shown + DETAILS_HINT


def format_summary(tally: Tally, difference: Difference | None, columns: int, lines: int) -> str:
    top = [format_scores(tally, columns), "", format_dead(tally, difference)]
    room = lines - sum(part.count("\n") + 1 for part in top)
    examples = list_examples(tally, difference)
    most = (room - 2 * len(examples)) // max(1, len(examples))
    for title, rows in examples.items() if most > 0 else ():
        top += ["", title, *(format_example(label, group, row, columns) for label, group, row in rows[:most])]
    return "\n".join(top)


def format_scores(tally: Tally, columns: int) -> str:
    """Return a table of the rewards. The times, and then what was recorded, are left out if the scores would be cut."""
    rows = [["reward", "mean", "None", "p99 ms", "unchanged", "scores"]]
    for name, scores in tally.scores.items():
        found = describe_reward(tally, name)
        mean, time, recorded = found["mean"], found["milliseconds"], found["as_recorded"]
        rows.append(
            [
                name,
                "-" if mean is None else f"{mean:.3f}",
                f"{found['unscored'] / scores.total():.1%}",
                f"{time['p99']:.3f}" if time else "-",
                "-" if recorded is None else f"{recorded:.1%}",
                format_distribution(keep_known(scores)),
            ]
        )
    alignments = "<>>>><"
    while len(alignments) > 4 and max(map(cell_len, format_table(rows, alignments, WHOLE[0]).splitlines())) > columns:
        rows, alignments = [row[:3] + row[4:] for row in rows], alignments[:3] + alignments[4:]
    return format_table(rows, alignments, columns)


def format_distribution(scores: "Counter[float]") -> str:
    """Return the scores with their shares if there are only a few, and otherwise the quartiles."""
    if len(scores) <= MAX_LISTED:
        return ", ".join(f"{score:.4g}: {format_share(share)}" for score, share in list_shares(scores))
    values = sorted(scores.elements())
    return "quartiles " + ", ".join(f"{get_quantile(values, share):.4g}" for share in QUARTILES)


def format_share(share: float) -> str:
    """Return a share in whole percent. Only a share of nothing is 0%, and only a share of everything is 100%."""
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share:.0%}"


def format_dead(tally: Tally, difference: Difference | None) -> str:
    """Return the share of dead groups, and how many rows earn more or less than under the old rewards."""
    dead = f"{tally.dead / tally.groups:.1%} would be dead"
    if difference is None:
        return f"{count(tally.groups, 'group')}; {dead}"
    return (
        f"{count(tally.groups, 'group')}; {dead}, and {difference.dead / difference.groups:.1%} under the old rewards\n"
        f"{count(difference.rows, 'row')}; {difference.equal:,} earn the same, {difference.up:,} more, "
        f"{difference.down:,} less"
    )


def list_examples(tally: Tally, difference: Difference | None) -> dict[str, list[tuple[str, Group, int]]]:
    """Return rows to show by the title above them: a label, the group, and the index of the row."""
    surprising = [(format_score(one.totals[row]), one.group, row) for _, _, row, one in list_surprising(tally)]
    found = {"largest outliers within their group:": surprising}
    for way, title in (("up", "rows that earn more:"), ("down", "rows that earn less:")):
        changed = difference.examples[way] if difference else []
        found[title] = [
            (f"{format_score(then)} -> {format_score(now)}", one.group, row) for then, now, one, row in changed
        ]
    return {title: rows for title, rows in found.items() if rows}


def format_example(label: str, group: Group, row: int, columns: int) -> str:
    """Return a line with a label, the start of the prompt and the end of the completion."""
    found = {name: make_printable(text) for name, text in describe_row(group, row).items()}
    prompt = cut(found["prompt"], (columns - 22) // 3)
    return f"{label:>14}  {prompt} | {cut(found['completion'], columns - 19 - cell_len(prompt), keep_end=True)}"
