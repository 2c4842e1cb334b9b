"""Writes the figures as one page in Markdown."""

from html import escape
from typing import Any

from .figures import is_listed
from .judges import BASELINES, EQUALITY, OURS


SHOWN = 300
"""Number of characters of a text that the page shows. The JSON file has the whole text."""

WORDS = {True: "paid", False: "refused", None: "not judged"}

INTRO = """# Verifiers on public sets

Each set was published with labels. A **false pay** is a completion that is labelled wrong and gets the full reward. A
**false refusal** is one that is labelled right and does not get it. Rows that are **not judged** are in neither figure.
Intervals are 95 % by Wilson's formula.

Some labels are wrong. We looked at each row on which our reward and the label differ, and at each row that is labelled
wrong and paid by a library. Where we rule against the label, the page says so with the reason. A row on which nobody can
say is left out. The first table and the column *adjudicated* use our rulings; the other figures use the labels.

Plain baselines are compared too: *equal text* and *equal JSON* pay only what equals the solution, so they never pay a
wrong answer, and are not counted as peers. *one process* runs a program and its tests together, and pays if they end
with 0. TRL, math-verify and open-r1 get each solution between dollar signs, which they read better. TRL's
`reasoning_accuracy_reward` judges as its `accuracy_reward` does, but only after `</think>`, which no set has.
"""


def write_page(table: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in table["versions"].items())
    parts = [INTRO, f"Versions: {versions}.", write_table(table), *map(write_set, table["sets"])]
    return "\n\n".join(parts) + "\n"


def write_table(table: dict[str, Any]) -> str:
    """Return the adjudicated figures as a table. Right answers that are not judged are in brackets."""
    lines = ["| set | wrong, right | false pays | false refusals | rows a second |", "|---|---|---|---|---|"]
    for one in table["sets"]:
        shown = {name: judge for name, judge in one["judges"].items() if name not in EQUALITY}
        cells = [
            ", ".join(
                f"{name} {judge['adjudicated'][error]['count']}{left(judge, error)}" for name, judge in shown.items()
            )
            for error in ("false_pays", "false_refusals")
        ]
        rates = ", ".join(f"{judge['rows_per_second']:,.0f}" for judge in shown.values())
        title = f"{one['title']}{' (made)' if one['made'] else ''}"
        lines.append(f"| {title} | {one['wrong']:,}, {one['right']:,} | {' | '.join(cells)} | {rates} |")
    return "\n".join(lines)


def left(judge: dict[str, Any], error: str) -> str:
    count = judge["adjudicated"]["right_unjudged"]
    return f" (+{count:,})" if error == "false_refusals" and count else ""


def write_set(one: dict[str, Any]) -> str:
    """Return the section of one set, with its table of judges and its disagreements."""
    commit = one.get("commit") or one["pinned"]
    other = " (not the pinned commit)" if commit != one["pinned"] else ""
    lines = [
        f"## {one['title']}\n",
        f"[{one['repository']}](https://github.com/{one['repository']}) at {commit[:12]}{other}, {code(one['files'][0])}. "
        f"{one['rows']:,} rows: {one['wrong']:,} wrong, {one['right']:,} right. Labelled by {one['labels']}. "
        f"{one['ruled']:,} rulings of ours. Ours: `{one['reward']}`. Standing: {one['standing']}. "
        f"{'We derived these rows from the source. ' if one['made'] else ''}{one['remark']}\n",
        "| judge | false pays | false refusals | adjudicated | not judged |\n|---|---|---|---|---|",
    ]
    for name, judge in one["judges"].items():
        shares = [describe(judge["raw"][error]) for error in ("false_pays", "false_refusals")]
        ruled = ", ".join(str(judge["adjudicated"][error]["count"]) for error in ("false_pays", "false_refusals"))
        lines.append(f"| {name} | {' | '.join(shares)} | {ruled} | {judge['raw']['unjudged']:,} |")
    lines += [f"\nNot run: {name}: {reason}." for name, reason in one["not_run"].items()]
    return "\n".join([*lines, "", *map(write_row, filter(is_listed, one["disagreements"]))])


def describe(share: dict[str, Any]) -> str:
    interval = f" ({100 * share['low']:.2f} to {100 * share['high']:.2f} %)" if share["of"] else ""
    return f"{share['count']:,} of {share['of']:,}{interval}"


def write_row(row: dict[str, Any]) -> str:
    """Return a row on which a judge differs from the label. The JSON file also contains rows on which only a baseline differs."""
    ruling = ""
    if "reason" in row:
        ruled = {True: "right", False: "wrong", None: "open"}[row["adjudicated"]]
        ruling = f", we say **{ruled}**: {escape(row['reason'])}"
    verdicts = [f"{name} {WORDS[verdict]}" for name, verdict in row["verdicts"].items() if name not in BASELINES]
    mark = " **(this package differs)**" if row["verdicts"].get(OURS) != row["label"] else ""
    return (
        f"- {code(row['row'])}{mark}, labelled {'right' if row['label'] else 'wrong'}{ruling}. "
        f"Expected {code(row['gold'])}, given {code(row['answer'])}. {', '.join(verdicts)}."
    )


def code(text: str) -> str:
    """Return a text as code in one line."""
    shown = " ".join(text.split()).replace("`", "'")
    return f"`{shown if len(shown) <= SHOWN else f'{shown[:SHOWN]} …'}`"
