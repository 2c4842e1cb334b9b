"""What a reward function may return, and scores as a table: HTML that shows hostile texts without acting on them."""

import asyncio
from decimal import Decimal
from fractions import Fraction
from xml.etree import ElementTree

import numpy
import pytest
import torch

from trl_grpo_rewards import boxed, keywords, reward, tags
from trl_grpo_rewards.scores import MAX_CHARACTERS, MAX_ROWS, ScoreTable, make_visible, read_scores


@pytest.mark.parametrize("returned", [
    [1, 0.5, None], (True, 0.5, None), iter([1, Decimal("0.5"), None]), [numpy.float32(1), Fraction(1, 2), None],
    [torch.tensor(1), torch.tensor([0.5]), None], numpy.array([1, 0.5, None]),
], ids=["list", "tuple", "iterator", "other numbers", "tensors", "array"])  # fmt: skip
def test_scores_are_floats_or_none(returned):
    scores = read_scores(returned, "it", 3)
    assert scores == [1.0, 0.5, None] and [type(score) for score in scores[:2]] == [float, float]


@pytest.mark.parametrize("returned", [None, 1.0, "10", b"10", {0: 1.0, 1: 0.0}, {0.0, 1.0}, True, numpy.array(1.0)])
def test_what_is_no_list_is_refused(returned):
    with pytest.raises(ValueError) as caught:
        read_scores(returned, "it", 2)
    assert str(caught.value) == (
        f"Reward 'it' returned {returned!r} for 2 completions. Return a list with one number or None per completion."
    )


def test_there_is_one_score_for_each_completion():
    for returned in ([], [1.0], torch.tensor([1.0] * 3)):
        with pytest.raises(ValueError, match=f"'it' returned {len(returned)} scores for 2 completions. Return a list"):
            read_scores(returned, "it", 2)


@pytest.mark.parametrize(
    "score",
    [
        float("nan"), float("inf"), float("-inf"), "1.0", "", b"1", [1.0], {}, 1j, object(), 10**400, Decimal("NaN"),
        numpy.array([1.0, 2.0]), torch.tensor([1.0, 2.0]), torch.tensor(torch.nan),
    ],
    ids=lambda score: repr(score)[:20],
)  # fmt: skip
def test_a_score_is_a_finite_number(score):
    with pytest.raises(ValueError, match="Reward 'it' gave .* for row 1 of the batch. Return a finite number"):
        read_scores([1.0, score], "it", 2)


HOSTILE = [
    "<script>alert(1)</script>", "</code></td></tr></table><img src=x onerror=alert(1)>", "<!-- ", "]]>",
    "&lt;b&gt; &amp;amp; &#60;script&#62;", "\" onmouseover='alert(1)' x=\"",
    "</textarea></style></title><svg/onload=alert(1)>",
    "$\\def\\a{\\a\\a}\\a$ \\(x\\) $$\\href{javascript:alert(1)}{x}$$", "javascript:alert(1)",
    "a\x00b\x1b[2Jc\u202ed\u2066e\ufeff", "first\nsecond\r\n third", "",
]  # fmt: skip
"""What a model, a dataset or a name could contain to act on the page of a notebook."""


@reward
async def judged_lightly(completion: str, log_extra=None) -> float | None:
    log_extra("reason", f"because <b>{completion}</b>")
    await asyncio.sleep(0)
    return None if "\x00" in completion else 0.123456


@reward(grouped=True)
def longest(completions: list[str]) -> list[float]:
    return [float(text == max(completions, key=len)) for text in completions]


def read(table: ScoreTable) -> list[list[str]]:
    """Return the text of each cell, after a look at all elements and attributes."""
    _, *elements = ElementTree.fromstring(f"<div>{table._repr_html_()}</div>").iter()
    assert {one.tag for one in elements} <= {"table", "thead", "tbody", "tr", "th", "td", "p"}
    assert {name for one in elements for name in one.attrib} <= {"class", "style", "border"}
    assert "mathjax_ignore" in elements[0].attrib["class"]
    return [["".join(cell.itertext()) for cell in one][1:] for one in elements if one.tag == "tr"]


def test_scores_and_totals_are_those_of_the_trainer():
    rewards = boxed() + 0.2 * tags("think") - 0.5 * longest()
    batch = {"completions": [r"<think>1</think>\boxed{4}", "4", r"\boxed{5}", "no"], "solution": ["4"] * 4}
    table = rewards.explain(**batch, prompts=["a", "a", "b", "b"])
    assert table.scores == {"boxed": [1.0, 0.0, 0.0, 0.0], "tags": [1.0, 0.0, 0.0, 0.0], "longest": [1.0, 0.0] * 2}
    assert table.totals == rewards(**batch, prompts=["a", "a", "b", "b"]) == [pytest.approx(0.7), 0.0, -0.5, 0.0]
    assert table.expression == str(rewards) and table.logged == {}
    assert str(table).splitlines()[:4] == [str(rewards), "", f"completion: {batch['completions'][0]}", "boxed: 1"]
    assert boxed().explain(["4"], solution=["4"]).totals == [0.0]


def test_asynchronous_rewards_are_awaited_even_inside_a_loop():
    async def in_a_notebook() -> ScoreTable:
        return (judged_lightly() + 2 * keywords(any=("x",))).explain(["x", "\x00"])

    table = asyncio.run(in_a_notebook())
    assert table.scores == {"judged_lightly": [0.123456, None], "keywords": [1.0, 0.0]}
    assert table.totals == [pytest.approx(2.123456), 0.0]
    assert table.logged == {"judged_lightly/reason": ["because <b>x</b>", "because <b>\x00</b>"]}


def test_hostile_texts_are_shown_and_do_nothing():
    names = [f"{text}{place}" for place, text in enumerate(HOSTILE)]
    titles, *rows = read((sum(keywords(any=("a",), name=name) for name in names) + judged_lightly()).explain(HOSTILE))
    visible = [make_visible(text) for text in HOSTILE]
    assert titles[1 : len(names) + 1] == [make_visible(name) for name in names] and len(rows) == len(HOSTILE)
    assert [row[0] for row in rows] == [text.replace("\n", "\\n").replace("\r", "\\r").strip() for text in visible]
    assert rows[0][-1] == "because <b><script>alert(1)</script></b>" and rows[9][-3] == "None"


def test_marks_that_nobody_sees_become_visible():
    assert make_visible("a\x00\u202eb\r\nc\t") == "a\\x00\\u202eb\\r\nc\\t"


def test_large_batches_and_long_texts_are_cut():
    table = tags("think").explain(["<b>" * MAX_CHARACTERS, *["short"] * (MAX_ROWS + 1234)])
    titles, first, *rows = read(table)
    assert (
        first[0].endswith("b…")
        and len(first[0]) == MAX_CHARACTERS + 1
        and len(rows) == MAX_ROWS
        and f"{MAX_ROWS + 1235} rows" in table._repr_html_()
    )
    said = [[{"role": "assistant", "content": "first"}, {"role": "assistant", "content": "<i>last</i>"}]]
    assert read(tags("think").explain(said))[1][0] == "<i>last</i>"
