"""Writes the figures as one static page, and as a table in Markdown."""

from html import escape
from typing import Any

from .figures import is_listed
from .judges import BASELINES, EQUALITY, OURS


KINDS = {
    "answers": "Answers",
    "programs": "Programs",
    "tools": "Tool calls",
    "instructions": "Responses to instructions",
}

SHOWN = 300
"""Number of characters of a text that the page shows. The JSON file has the whole text."""

WORDS = {True: "paid", False: "refused", None: "not judged"}

STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5b6570; --line: #d8dde3; --paper: #fff; --card: #f5f7f9;
  --good: #14713d; --bad: #a8321f; --own: #e6f0fb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #a0aab4; --line: #3a424b; --paper: #14181c;
  --card: #1d2329; --good: #6fce97; --bad: #f0907d; --own: #1d3147; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { margin-top: 2.5rem; } h3 { margin: 0; font-size: 1.1rem; }
p { margin: .5rem 0; overflow-wrap: anywhere; } a { color: inherit; } small, .soft { color: var(--soft); font-size: .85rem; }
table { width: 100%; border-collapse: collapse; margin: .75rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .35rem .5rem .35rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; font-size: .85rem; } td small { display: block; }
tr.own td { background: var(--own); } tr.own td:first-child { font-weight: 600; padding-left: .4rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 1rem 0; }
.good { color: var(--good); } .bad { color: var(--bad); } .made { color: var(--bad); font-weight: 600; }
details { margin-top: .5rem; } summary { cursor: pointer; }
ol { list-style: none; padding: 0; margin: .5rem 0 0; }
li { border-top: 1px solid var(--line); padding: .5rem 0; overflow-wrap: anywhere; font-size: .9rem; }
code { font: .85em/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 600px) { body { font-size: 15px; padding: .75rem; } section { padding: .75rem; }
  th, td { padding-right: .3rem; font-size: .82rem; } .wide { display: none; } small { font-size: .75rem; } }
"""


def write_page(table: dict[str, Any]) -> str:
    """Return the whole page. It needs no other file."""
    versions = ", ".join(f"{escape(name)} {version}" for name, version in table["versions"].items())
    made = [one for one in table["sets"] if one["made"]]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Verifiers on public sets</title>"
        f"<meta name=viewport content='width=device-width, initial-scale=1'><style>{STYLE}</style>",
        "<main><h1>Verifiers on public sets</h1>",
        "<p>Each set below was published with labels. A <b>false pay</b> is a completion that is labelled wrong and gets "
        "the full reward. A <b>false refusal</b> is one that is labelled right and does not get it. Intervals are 95 % by "
        "Wilson’s formula. Rows that are <b>not judged</b> are in neither figure.</p>",
        "<p>Some labels are wrong. We looked at each row on which our reward and the label differ, and at each row that is "
        "labelled wrong and paid by a library. Where we rule against the label, the page says so with the reason. A row on "
        "which nobody can say is left out. Figures without a remark use the labels as published; figures marked "
        "<i>adjudicated</i>, and the overview, use our rulings.</p>",
        "<p>Plain baselines are compared too: <i>equal text</i> and <i>equal JSON</i> pay only what equals the solution, "
        "so they never pay a wrong answer, and are not counted as peers. <i>one process</i> runs a program and its tests "
        "together, and pays if they end with 0. TRL, math-verify and open-r1 get each solution between dollar signs, "
        "which they read better. TRL’s <code>reasoning_accuracy_reward</code> judges as its "
        "<code>accuracy_reward</code> does, but only after <code>&lt;/think&gt;</code>, which no set has.</p>",
        f"<p class=soft>Versions: {versions}.</p>",
        write_overview([one for one in table["sets"] if not one["made"]]),
    ]
    for kind, title in KINDS.items():
        sets = [one for one in table["sets"] if one["kind"] == kind and not one["made"]]
        parts += [f"<h2>{title}</h2>", *map(write_set, sets)] if sets else []
    if made:
        parts += [
            "<h2>Made sets</h2><p>We derived the rows of these sets from public ones. They are not counted above.</p>",
            *map(write_set, made),
        ]
    return "\n".join([*parts, "</main>"])


def write_overview(sets: list[dict[str, Any]]) -> str:
    rows = [
        f"<tr><td><a href='#{one['name']}'>{escape(one['title'])}</a><small>{one['wrong']:,} wrong, "
        f"{one['right']:,} right</small></td><td>{describe_all(one, 'false_pays')}</td>"
        f"<td>{describe_all(one, 'false_refusals')}</td><td class=wide>{write_standing(one)}</td></tr>"
        for one in sets
        if OURS in one["judges"]
    ]
    head = "<tr><th>set</th><th>false pays</th><th>false refusals</th><th class=wide>standing</th></tr>"
    bracket = "<p class=soft>Numbers in brackets are right rows that are not judged.</p>"
    return f"<h2>Overview, adjudicated</h2>{bracket}<table>{head}{''.join(rows)}</table>"


def describe_all(one: dict[str, Any], error: str) -> str:
    """Return our number of errors, and below it those of the others."""
    if not one["wrong" if error == "false_pays" else "right"]:
        return "<span class=soft>no such rows</span>"
    numbers = {
        name: f"{judge['adjudicated'][error]['count']:,}" + write_unjudged(judge, error)
        for name, judge in one["judges"].items()
        if name not in EQUALITY
    }
    ours = numbers.pop(OURS)
    others = ", ".join(f"{escape(name)} {number}" for name, number in numbers.items())
    return f"<b>{ours}</b><small>{others}</small>"


def write_unjudged(judge: dict[str, Any], error: str) -> str:
    count = judge["adjudicated"]["right_unjudged"]
    return f" (+{count:,})" if error == "false_refusals" and count else ""


def write_standing(one: dict[str, Any]) -> str:
    standing = one["standing"]
    style = "bad" if standing.startswith("behind") else "good" if standing == "ahead" else "soft"
    words = {"alone": "no peer here", "equal": "equal to the others", "ahead": "ahead of every peer, or equal"}
    return f"<span class={style}>{escape(words.get(standing, standing))}</span>"


def write_set(one: dict[str, Any]) -> str:
    """Return the card of one set, with its table of judges and its disagreements."""
    commit = one.get("commit") or one["pinned"]
    other = " (not the pinned commit)" if commit != one["pinned"] else ""
    made = "<p class=made>Made: we derived these rows.</p>" if one["made"] else ""
    only = "" if one["wrong"] and one["right"] else f" Only {'right' if one['right'] else 'wrong'} rows."
    remark = f"<p>{escape(one['remark'])}</p>" if one["remark"] else ""
    missing = "".join(
        f"<p class=soft>Not run: {escape(name)}: {escape(reason)}.</p>" for name, reason in one["not_run"].items()
    )
    judges = "".join(write_judge(name, judge, bool(one["ruled"])) for name, judge in one["judges"].items())
    ruled = f" {one['ruled']:,} rulings of ours." if one["ruled"] else ""
    return (
        f"<section id='{one['name']}'><h3>{escape(one['title'])}</h3>{made}<p class=soft>"
        f"<a href='https://github.com/{one['repository']}'>{escape(one['repository'])}</a> at {commit[:12]}{other}, "
        f"{escape(one['files'][0])}. {one['rows']:,} rows: {one['wrong']:,} wrong, {one['right']:,} right.{only} "
        f"Labelled by {escape(one['labels'])}.{ruled} Ours: <code>{escape(one['reward'])}</code></p>"
        f"<p>{write_standing(one)}</p>{remark}<table><tr><th>judge</th><th>false pays</th><th>false refusals</th>"
        f"<th>not judged</th><th class=wide>rows a second</th></tr>{judges}</table>{missing}{write_list(one)}</section>"
    )


def write_judge(name: str, judge: dict[str, Any], ruled: bool) -> str:
    cells = "".join(f"<td>{write_share(judge, error, ruled)}</td>" for error in ("false_pays", "false_refusals"))
    style = " class=own" if name == OURS else ""
    rate = "" if name in EQUALITY else f"{judge['rows_per_second']:,.0f}"
    return (
        f"<tr{style}><td>{escape(name)}</td>{cells}<td>{judge['raw']['unjudged']:,}</td>"
        f"<td class=wide>{rate}</td></tr>"
    )


def write_share(judge: dict[str, Any], error: str, ruled: bool) -> str:
    if not judge["raw"][error]["of"]:
        return "<span class=soft>no such rows</span>"
    published = describe(judge["raw"][error])
    return f"{published}<small>adjudicated: {describe(judge['adjudicated'][error])}</small>" if ruled else published


def describe(share: dict[str, Any]) -> str:
    interval = f"{100 * share['low']:.2f} to {100 * share['high']:.2f} %"
    return f"<b>{share['count']:,}</b> of {share['of']:,}<small>{interval}</small>"


def write_list(one: dict[str, Any]) -> str:
    """Return the rows on which a judge differs from the label. The JSON file also has those of baselines alone."""
    listed = [each for each in one["disagreements"] if is_listed(each)]
    if not listed:
        return ""
    ours = [each for each in listed if each["verdicts"].get(OURS) != each["label"]]
    listed.sort(key=lambda each: each["verdicts"].get(OURS) == each["label"])
    title = f"{len(listed):,} disagreements, {len(ours):,} of this package"
    return f"<details><summary>{title}</summary><ol>{''.join(map(write_row, listed))}</ol></details>"


def write_row(each: dict[str, Any]) -> str:
    label = "right" if each["label"] else "wrong"
    ruling = ""
    if "reason" in each:
        ruled = {True: "right", False: "wrong", None: "open"}[each["adjudicated"]]
        ruling = f"<br>we say <b>{ruled}</b>: {escape(each['reason'])}"
    verdicts = " · ".join(
        f"{escape(name)} {WORDS[verdict]}" for name, verdict in each["verdicts"].items() if name not in BASELINES
    )
    return (
        f"<li><b>{escape(each['row'])}</b>, labelled {label}{ruling}<br><span class=soft>expected</span> "
        f"<code>{shorten(each['gold'])}</code><br><span class=soft>given</span> <code>{shorten(each['answer'])}</code>"
        f"<br><span class=soft>{verdicts}</span></li>"
    )


def shorten(text: str) -> str:
    return escape(text if len(text) <= SHOWN else f"{text[:SHOWN]} …")


def write_table(table: dict[str, Any]) -> str:
    """Return the adjudicated figures as a table in Markdown."""
    lines = ["| set | wrong, right | false pays | false refusals | rows a second |", "|---|---|---|---|---|"]
    for one in table["sets"]:
        shown = {name: judge for name, judge in one["judges"].items() if name not in EQUALITY}
        cells = [
            ", ".join(f"{name} {judge['adjudicated'][error]['count']}" for name, judge in shown.items())
            for error in ("false_pays", "false_refusals")
        ]
        rates = ", ".join(f"{judge['rows_per_second']:,.0f}" for judge in shown.values())
        title = f"{one['title']}{' (made)' if one['made'] else ''}"
        lines.append(f"| {title} | {one['wrong']:,}, {one['right']:,} | {' | '.join(cells)} | {rates} |")
    return "\n".join(lines)
