r"""boxed, called as TRL calls it."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import answer, boxed, choice, exact
from trl_grpo_rewards.answers import second_opinion


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


def test_the_gold_in_a_box_is_right_however_the_column_writes_it():
    forms = ["{}", "${}$", "\\boxed{{{}}}", "\\({}\\)", "So it is ${}$.\n#### {}"]
    columns = [(gold, form.format(gold, gold)) for gold in GOLDS for form in forms]
    assert [(gold, one) for gold, one in columns if score(f"Hence $\\boxed{{{gold}}}$.", one) != 1.0] == []


@pytest.mark.parametrize(
    "gold, fragment",
    [(r"3\sqrt{5}", "3"), (r"2\pi", "2"), ("10^{5}", "10"), ("5!", "5"), ("2^{10}", "2"), ("3:4", "3"), ("12:30", "12"),
     ("4x+7", "4"), ("2, 3", "3"), ("3 and 5", "5"), (r"5\text{ or }7", "5"), (r"\log_2 8", "8")],
)  # fmt: skip
def test_a_fragment_of_the_gold_is_not_paid(gold, fragment):
    assert score(f"\\boxed{{{fragment}}}", gold) == 0.0


@pytest.mark.parametrize("gold", [None, "", "$ $", float("nan"), [], {"a": 1}])
def test_without_a_gold_nothing_is_judged(gold):
    assert score(r"\boxed{4}", gold) is None
    assert score("no box", gold) is None


@pytest.mark.parametrize(
    "completion, paid",
    [
        (r"\boxed{3} no wait \boxed{4}", 1.0), (r"\boxed{4} no wait \boxed{3}", 0.0), (r"\boxed 4", 1.0),
        (r"\fbox{4}", 1.0), (r"<think>\boxed{3}</think> \boxed{4}", 1.0), (r"<think>\boxed{4}</think> It is 4.", 0.0),
        (r"<think>\boxed{4}", 0.0), (r"\boxed{4} \boxed{", 0.0), (r"\boxed{}", 0.0), ("The answer is 4.", 0.0),
        ("", 0.0),
    ],
)  # fmt: skip
def test_the_last_box_after_the_reasoning_counts(completion, paid):
    assert score(completion, "4") == paid


def test_tolerance():
    assert score(r"\boxed{3.14}", "3.14159", tolerance=0.01) == 1.0
    assert score(r"\boxed{3.14}", "3.14159") == 0.0


def test_which_box_counts():
    completion = r"\boxed{3}, no, \boxed{4}"
    assert [score(completion, "4", box=box) for box in ("last", "only", "first")] == [1.0, 0.0, 0.0]
    assert score(r"\boxed{4}", "4", box="only") == 1.0
    with pytest.raises(TypeError, match="'box' of 'boxed' must be of type Literal"):
        boxed(box="any")


def test_units_and_evaluation_are_options():
    assert [score(r"\boxed{7 m}", "7 km", units=units) for units in ("ignore", "must_match")] == [1.0, 0.0]
    assert [score(r"\boxed{7 miles}", "7 km", units=units) for units in ("ignore", "must_match")] == [1.0, 0.0]
    assert [score(r"\boxed{3 \times 4}", "12", evaluated=evaluated) for evaluated in (False, True)] == [1.0, 0.0]


def test_the_question_restated_is_no_answer_wherever_it_stands():
    sentences = ["Factor {} completely.", "Is {}", "{} is what?", "Write {} as a power, please"]
    marks = ["{}", "${}$", r"\({}\)", "$ {} $", "**{}**", "${}$,", "({})"]
    copies = {
        "x^2+2x+1": "(x+1)^2", r"x^2 + 2 x + 1": "(x+1)^2", r"\sqrt{12}": r"2\sqrt{3}", r"\sqrt x \cdot \sqrt x": "x",
        r"\frac{x^2}{x}": "x", r"a\cdot b\cdot a": "a^2b",
    }  # fmt: skip
    for (copied, solution), mark, sentence in product(copies.items(), marks, sentences):
        prompt = sentence.format(mark.format(copied))
        answers = [copied, copied.replace(" ", "") if "\\" not in copied else copied, f"${copied}$", solution]
        completions = [f"\\boxed{{{one}}}" for one in answers]
        scores = boxed(evaluated=True)(prompts=[prompt] * 4, completions=completions, solution=[solution] * 4)
        assert scores == [0.0, 0.0, 0.0, 1.0], prompt


def test_a_part_of_a_term_of_the_question_is_an_answer():
    prompts = ["Subtract $x$ from $2x+1$, please.", "What is $12a-b$ less $11a$ here?", r"Halve $22\sqrt{3}$ now"]
    completions = [r"\boxed{x+1}", r"\boxed{a-b}", r"\boxed{2\sqrt{3}}"]
    scores = boxed(evaluated=True)(prompts=prompts, completions=completions, solution=["1+x", "-b+a", r"\sqrt{12}"])
    assert scores == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "completion, paid",
    [
        ("<think>48 + 24</think> 72", 1.0), ("<think>the answer is 72</think> 71", 0.0),
        ("<think>the answer is 72", 0.0), ("48/2 = 24\n#### 72", 1.0), (r"Hence \boxed{72}.", 1.0),
        (r"The answer is 72, or \boxed{71}", 0.0), ("So the answer is **72 clips**.", 1.0),
        ("<answer>72.0</answer>", 1.0), ("It took a long way.\nIt is 72", 0.0), ("The answer is 72 or 73.", 0.0),
        ("", 0.0),
    ],
)  # fmt: skip
def test_the_answer_need_not_be_boxed(completion, paid):
    assert answer()(completions=[completion], solution=["#### 72"]) == [paid]


def test_the_answer_takes_the_options_of_boxed():
    assert answer(partial=0.1)(completions=["71", ""], solution=[72, 72]) == [0.1, 0.0]
    assert answer(tolerance=1)(completions=["71", "70"], solution=["72", ""]) == [1.0, None]
    assert answer(units="must_match")(completions=["7 km", "7 miles"], solution=["7 km"] * 2) == [1.0, 0.0]
    assert answer(evaluated=True)(completions=["36 + 36"], solution=["72"]) == [0.0]


def test_exact_compares_texts():
    completions = ["<think>x</think>\nparis", "The answer is **Paris**.", "Lyon", "", "Paris is a\ncity"]
    assert exact()(completions=completions, solution=["Paris"] * 5) == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert exact(case=True)(completions=["paris", "Paris"], solution=["Paris"] * 2) == [0.0, 1.0]
    assert exact()(completions=["7", "7.0", "x"], solution=[7, 7, None]) == [1.0, 0.0, None]
    assert exact()(completions=["Paris"] * 2, solution=[r"\boxed{Paris}", "... #### Paris"]) == [1.0, 1.0]
    assert exact()(completions=["New  York", "St. John's"], solution=["new york", "st. john's"]) == [1.0, 1.0]


def test_marks_around_a_text_are_no_part_of_it():
    completions = ['"Hey Jude"', "“Hey Jude.”", "_Hey Jude_", "**Hey Jude**!", "Hey Jude।", "「Hey Jude」"]
    assert exact()(completions=completions, solution=["Hey Jude"] * 6) == [1.0] * 6
    completions, solutions = (
        [r"A \& B", "The answer is St. Louis.", "C#", "C++", "5!", "?"],
        ["A & B", "St", "C", "C", "5", "!"],
    )
    assert exact()(completions=completions, solution=solutions) == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_a_choice_in_other_languages_and_with_a_reason():
    completions = [
        "答えはCです。",
        "C가 정답입니다",
        "उत्तर C है।",
        "Ответ: С",
        "c. 4",
        "(C) is right because (B) fails.",
    ]
    assert choice()(completions=completions, solution=["C"] * 6) == [1.0] * 6
    assert choice()(completions=["(A) 4 (B) 5", "c.d", "Cézanne"], solution=["A", "C", "C"]) == [0.0] * 3


@pytest.mark.parametrize(
    "text, letter",
    [
        ("B", "B"), ("b", "B"), ("(B)", "B"), ("**B**", "B"), ("$B$", "B"), (r"\text{B}", "B"), ("B.", "B"),
        (r"\textbf{(B)}\ 42", "B"), ("B) 42", "B"), ("B. A triangle", "B"), ("Option B", "B"), ("option B is right", "B"),
        ("C 5 km", "C"), ("B because A is wrong", "B"), ("B, not A", "B"), ("(B) A", "B"), ("option b", "B"),
        ("not B", None), ("B is wrong", None), ("(B) is wrong", None), ("Anything but B", None), ("A is correct", "A"), ("It is A.", "A"),
        ("A triangle", None), ("A or B", None), ("A, B", None), ("(A) and (B)", None), ("(A)(B)", None), ("A/B", None),
        ("A), and B", None), ("(B) A. Lincoln", "B"), ("Answer: (B) A", "B"),
        ("A. 5 B. 6 C. 7", None), ("ABC", None), ("F", None), ("It's C, because A is wrong", None), ("", None),
    ],
)  # fmt: skip
def test_one_letter_is_the_choice(text, letter):
    scores = choice()(completions=[f"\\boxed{{{text}}}", f"<answer>{text}</answer>"], solution=[letter or "B"] * 2)
    assert scores == [float(letter is not None)] * 2


@pytest.mark.parametrize("text", ["A or B", "B or A", "either B or C", "A, then B, then C"])
def test_several_letters_choose_none_of_them(text):
    assert choice()(completions=[f"\\boxed{{{text}}}"] * 3, solution=[*"ABC"]) == [0.0] * 3


def test_the_solution_of_a_choice():
    golds = ["B", "(b)", r"\text{(B)}", "B) 42", "42", None, "F"]
    assert choice()(completions=["B"] * 7, solution=golds) == [1.0, 1.0, 1.0, 1.0, None, None, None]
    assert choice("ABCDEF")(completions=["F"], solution=["F"]) == [1.0]
    for letters in ("abc", "A", "AAB", "A B"):
        with pytest.raises(ValueError, match="two or more different capital letters"):
            choice(letters)


@given(st.text(alphabet="\\boxed{}frac0123456789+-^_ ()[],.$", max_size=40))
def test_any_completion_has_a_score(text):
    assert score(text, "42") in (0.0, 1.0)


@pytest.fixture(scope="module")
def math_verify():
    """Its process is already running, since starting it takes longer than hypothesis allows an example."""
    second_opinion.ask("1", "1")


@pytest.mark.usefixtures("math_verify")
@given(st.text(), st.text())
def test_no_text_makes_an_answer_raise(text, gold):
    for one in (answer(), exact(), choice()):
        assert one(completions=[text], solution=[gold])[0] in (0.0, 1.0, None)


def test_an_answer_that_the_question_says_is_right_if_it_is_spelled_as_the_solution():
    def paid(prompt, answered, solution):
        text = f"\\boxed{{{answered}}}"
        return boxed(evaluated=True)(prompts=[prompt], completions=[text], solution=[solution])[0]

    assert paid("Write the sum of the sides: 3+4", "3+4", "3+4") == 1.0 and paid("What is 3+4?", "3+4", "7") == 0.0
    assert paid(r"Is it $\frac{1}{2}$ or 2?", r"\frac{1}{2}", "0.5") == 1.0
    assert paid([{"role": "user", "content": r"Expand \((x+1)^2\)"}], "(x+1)^2", "x^2+2x+1") == 0.0
