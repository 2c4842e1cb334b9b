"""What the report says about other numbers of completions, and the picture about them."""

import math
import random
from runpy import run_path

import pytest

from helpers.made_runs import record, story, written
from helpers.paths import ROOT, SCRIPTS
from trl_grpo_rewards.report.group_sizes import SIZES, GroupSizes
from trl_grpo_rewards.report.pages import write_page


RATES = {
    "all equal": lambda rng: 0.3,
    "even": lambda rng: rng.random(),
    "mostly hard": lambda rng: rng.betavariate(0.3, 2),
    "easy and hard": lambda rng: rng.betavariate(0.2, 0.2),
    "two kinds": lambda rng: rng.choice([0.05, 0.6]),
    "mostly impossible": lambda rng: rng.choice([0, 0, 0.3]),
}
"""How the pass rate of a prompt is drawn."""


def count_groups(draw, size, groups=1500, seed=1):
    rng = random.Random(seed)
    sizes = GroupSizes()
    for _ in range(groups):
        rate = draw(rng)
        sizes.add({"rewards": {"boxed": [float(rng.random() < rate) for _ in range(size)]}, "lengths": [10] * size})
    return sizes.describe()


def find_true_share(draw, size, count=20_000):
    """Return the share of live groups of a size at rates that are drawn anew."""
    rng = random.Random(1)
    rates = [draw(rng) for _ in range(count)]
    return sum(1 - rate**size - (1 - rate) ** size for rate in rates) / count


def describe(folder, stepped, tmp_path):
    (run,) = write_page(written(folder, stepped), tmp_path / "report.html")
    return run["sizes"]


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("name", RATES)
def test_other_sizes_are_estimated_from_the_pass_rates_of_the_run(name, size):
    found = count_groups(RATES[name], size)
    assert found["size"] == size and sum(share for _, share in found["rates"]) == pytest.approx(1)
    assert [other for other, *_ in found["sizes"]] == [other for other in SIZES if other <= 4 * size]
    for other, live, tokens in found["sizes"]:
        margin = 0.06 if other <= 2 * size else 0.11
        assert live == pytest.approx(find_true_share(RATES[name], other), abs=margin), other
        assert tokens == pytest.approx(10 * other / live)


def test_the_own_size_is_what_was_counted(tmp_path):
    groups = [(1, record({"boxed": [1.0] * right + [0.0] * (6 - right)})) for right in (0, 0, 1, 3, 6)]
    found = describe(tmp_path, iter(groups), tmp_path)
    assert found["rates"] == [[0, 0.4], [pytest.approx(1 / 6, abs=1e-5), 0.2], [0.5, 0.2], [1, 0.2]]
    shares = {size: live for size, live, _ in found["sizes"]}
    assert shares[6] == pytest.approx(0.4)
    pairs = (1 * 5 / math.comb(6, 2) + 3 * 3 / math.comb(6, 2)) / 5  # a right and a wrong one of a group
    assert shares[2] == pytest.approx(pairs, abs=1e-4)


def test_a_run_without_a_live_group_has_few_at_any_size(tmp_path):
    groups = [(1, record({"boxed": [float(right)] * 4})) for right in (0, 1, 1)]
    found = describe(tmp_path, iter(groups), tmp_path)
    assert found["sizes"][:2] == [[2, 0.0, None], [4, 0.0, None]]
    assert all(live < 0.05 for _, live, _ in found["sizes"])


def test_scores_that_are_not_right_or_wrong_have_no_such_section(tmp_path):
    assert describe(tmp_path, iter([(1, record({"style": [0.2, 0.6, 0.4]}))]), tmp_path) is None


def test_the_section_on_the_page(browser, tmp_path):
    page = written(tmp_path, story(steps=12))
    for width, theme in ((1280, "light"), (390, "dark")):
        browser.open(page, width, theme)
        assert browser.text("#sizes h2") == ["How many completions a group needs"]
        said = browser.text("#sizes p")[0].replace("\u00a0", " ")
        assert "With k = 8, as here, " in said and "k = 16 would have given " in said
        assert browser.text("#sizes .legend button")[:2] == ["groups of this run", "live with k = 2"]
        browser.assert_sound()
    browser.focus("#sizes summary", "\ue007")
    rows = browser.text("#sizes tr")
    assert rows[0] == "Completions of a group Share of live groups Tokens for each live group" and len(rows) == 6


def test_the_picture_of_the_page_is_what_its_script_draws():
    draw = run_path(str(SCRIPTS / "draw_group_sizes.py"))["draw"]
    assert (ROOT / "docs" / "group_size.svg").read_text("utf-8") == draw()
