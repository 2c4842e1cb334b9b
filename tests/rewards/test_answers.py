r"""boxed, called as TRL calls it."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import boxed


def score(completion, solution, **options):
    return boxed(**options)(completions=[completion], solution=[solution])[0]


# Golds as MATH and AoPS answers are written; TRL 1.16's accuracy_reward gets 6 of the first 29 right.
GOLDS = [
    "42", "-7", "0.5", "3/4", "x", "1{,}000",
    r"\sqrt{2}", r"\dfrac{9}{7}", "x^2+1", r"\pi", "(1,2)", "[0,1)", r"\{1,2\}", r"\infty", r"\text{A}",
    r"\frac{\pi}{4}", r"\binom{5}{2}", r"\frac12", "a+b", "No", r"2\pi", r"3\sqrt{5}", "10^{5}", "5!", "2^{10}",
    r"\log_2 8", "3:4", "12:30", "4x+7", r"\text{Evelyn}", r"3\sqrt{13}", r"12\frac{3}{5}", r"\$36", "36^\\circ", "50\\%",
    r"\begin{pmatrix}1\\2\end{pmatrix}", "2, 3", "3 and 5", r"5\text{ or }7", r"x \in [-2,7]", r"y=2x+1",
]  # fmt: skip


@pytest.mark.parametrize("form", ["{}", "${}$", "\\boxed{{{}}}", "\\({}\\)", "So it is ${}$.\n#### {}"])
@pytest.mark.parametrize("gold", GOLDS)
def test_the_gold_in_a_box_is_right_however_the_column_writes_it(gold, form):
    assert score(f"Hence $\\boxed{{{gold}}}$.", form.format(gold, gold)) == 1.0


@pytest.mark.parametrize(
    "gold, fragment",
    [(r"3\sqrt{5}", "3"), (r"2\pi", "2"), ("10^{5}", "10"), ("5!", "5"), ("2^{10}", "2"), ("3:4", "3"), ("12:30", "12"),
     ("4x+7", "4"), ("2, 3", "3"), ("3 and 5", "5"), (r"5\text{ or }7", "5"), (r"\log_2 8", "8")],
)  # fmt: skip
def test_a_fragment_of_the_gold_is_not_paid(gold, fragment):
    assert score(f"\\boxed{{{fragment}}}", gold) == 0.0


@pytest.mark.parametrize("gold", [72, 72.0, Decimal("72"), "72", "#### 72", "Natalia sold 48/2 = 24.\n#### 72"])
def test_the_gold_may_be_a_number(gold):
    assert score(r"\boxed{72}", gold) == score(r"\boxed{72.00}", gold) == 1.0
    assert score(r"\boxed{73}", gold) == 0.0


@pytest.mark.parametrize(
    "gold, right, wrong", [(True, r"\text{True}", "False"), (False, "false", "true"), (0.5, r"\frac{1}{2}", "5")]
)
def test_the_gold_may_be_a_truth_value_or_a_decimal(gold, right, wrong):
    assert score(f"\\boxed{{{right}}}", gold) == 1.0
    assert score(f"\\boxed{{{wrong}}}", gold) == 0.0


@pytest.mark.parametrize("gold", [None, "", "$ $", float("nan"), ["4"], {"a": 1}])
def test_without_a_gold_nothing_is_judged(gold):
    assert score(r"\boxed{4}", gold) is None
    assert score("no box", gold) is None


@pytest.mark.parametrize(
    "completion, paid",
    [
        (r"\boxed{3} no wait \boxed{4}", 1.0),
        (r"\boxed{4} no wait \boxed{3}", 0.0),
        (r"\boxed 4", 1.0),
        (r"\fbox{4}", 1.0),
        (r"<think>\boxed{3}</think> \boxed{4}", 1.0),
        (r"<think>\boxed{4}</think> It is 4.", 0.0),
        (r"<think>\boxed{4}", 0.0),
        (r"\boxed{4} \boxed{", 0.0),
        (r"\boxed{}", 0.0),
        ("The answer is 4.", 0.0),
        ("", 0.0),
    ],
)
def test_the_last_box_after_the_reasoning_counts(completion, paid):
    assert score(completion, "4") == paid


def test_a_box_in_the_last_message_counts():
    messages = [{"role": "assistant", "content": r"\boxed{3}"}, {"role": "tool", "content": "4"}]
    assert boxed()(completions=[[*messages, {"role": "assistant", "content": r"\boxed{4}"}]], solution=["4"]) == [1.0]


def test_the_classic_three_values():
    classic = boxed(partial=0.5) + 0.5 * boxed(name="correct")
    completions = [r"\boxed{4}", r"\boxed{5}", "4"]
    assert classic(completions=completions, solution=["4"] * 3) == [1.5, 0.5, 0.0]


def test_tolerance():
    assert score(r"\boxed{3.14}", "3.14159", tolerance=0.01) == 1.0
    assert score(r"\boxed{3.14}", "3.14159") == 0.0
    with pytest.raises(ValueError, match="tolerance=-1, and it is a distance"):
        boxed(tolerance=-1)


@given(st.text(alphabet="\\boxed{}frac0123456789+-^_ ()[],.$", max_size=40))
def test_any_completion_has_a_score(text):
    assert score(text, "42") in (0.0, 1.0)
