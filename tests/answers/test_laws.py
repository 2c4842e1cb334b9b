r"""
Laws that verdicts keep when a solution and an answer are written in another way.

Each law is tried on plain templates, on the outside data where they are available, and on drawn expressions.
"""

import itertools
import re
import string
from collections import defaultdict

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from helpers.answer_laws import COMMANDS, TEMPLATES, TREES, assert_none, is_plain, judge, read_pairs
from helpers.outside_data import read_outside_data
from trl_grpo_rewards.answers.mathematics.grammar import read
from trl_grpo_rewards.answers.mathematics.matching import AnswerRules
from trl_grpo_rewards.answers.solutions import read_gold
from trl_grpo_rewards.answers.verification import settle


# A letter is a name: what it is called changes nothing. These letters are not names: Euler's number, the imaginary unit
# and the sign of a differential.
NOT_NAMES = {*"eid"}
GREEK = [f"\\{name} " for name in "alpha beta gamma delta theta lambda rho sigma tau phi psi omega".split()]
LETTERS = [letter for letter in [*string.ascii_letters, *GREEK] if letter not in NOT_NAMES]
# In these places, a letter has a meaning of its own: a function before its argument, and E in scientific notation.
# Where numbers are rounded, these are integers.
ROUNDED, INTEGERS = re.compile(r"\\l(?:floor|ceil)\b|\\b?mod\b"), {*"nmkN"}
MEANINGS = re.compile(r"(?<![A-Za-z\\])[fghFGHP] *(?:\\left *)?\(|\dE[-+]?\d")


def rename(text: str, old: str, new: str) -> str:
    return re.sub(rf"({COMMANDS})|{old}", lambda found: found[1] or new, text)


def check_renaming(triples, olds, letters):
    """Judge with each letter in place of a variable, except a letter that is in the texts or would have a meaning."""
    broken, judged = defaultdict(list), 0
    for gold, answer, verdict in triples:
        for old in sorted({*re.sub(COMMANDS, "", gold)} & olds):
            for new in letters:
                pair = rename(gold, old, new), rename(answer, old, new)
                are_integers = new in INTEGERS and ROUNDED.search(gold + answer)
                has_meaning = are_integers or any(map(MEANINGS.search, (gold, answer, *pair)))
                if new not in gold + answer and not has_meaning:
                    judged += 1
                    if (given := judge(*pair)) is not verdict:
                        broken[f"{gold} # {answer} is {verdict}, but {given} with {old} called"].append(new)
    assert_none((f"{case} {' '.join(names)}" for case, names in broken.items()), judged)
    return judged


def test_the_name_of_a_variable_does_not_matter_in_templates():
    assert check_renaming(TEMPLATES, {"x"}, LETTERS) > 3000


# Functions in pieces are equal on one side. Points are derived from the texts, so that names decide which side is tried.
ONE_SIDE = [
    ("|a-b|", "a-b"), (r"\max(a,b)", "a"), (r"\min(a,b)", "b"), ("|a|+|b|", "|a+b|"), (r"\sqrt{(a-b)^2}", "a-b"),
]  # fmt: skip


def test_no_names_make_functions_equal_that_are_so_on_one_side():
    names = [letter for letter in string.ascii_lowercase[::2] if letter not in NOT_NAMES]
    pairs = []
    for (one, other), texts in itertools.product(itertools.permutations(names, 2), ONE_SIDE):
        apart = [rename(rename(text, "a", "A"), "b", other) for text in texts]  # `b` may become `a`
        pairs.append([rename(text, "A", one) for text in apart])
    assert_none([f"{one} # {other}" for one, other in pairs if judge(one, other)], len(pairs))


# Units, functions and choices are recognized by their letters, so that only plain texts are renamed here.
@pytest.mark.slow
def test_the_name_of_a_variable_does_not_matter_in_real_answers():
    pairs = [(*pair, judge(*pair)) for pair in read_pairs() if all(map(is_plain, pair))]
    letters = {*string.ascii_lowercase} - NOT_NAMES
    assert check_renaming(pairs, letters, sorted(letters)) > 3000


@given(TREES, st.sampled_from(LETTERS))
def test_the_name_of_a_variable_does_not_matter_in_expressions(tree, letter):
    texts = [rename(sympy.latex(one), "x", letter) for one in (tree, tree + sympy.Symbol("x", real=True))]
    if letter not in "xyE" and not any(map(MEANINGS.search, texts)):
        assert [judge(texts[0], text) for text in texts] == [True, False]


# A spelling of the same signs shows the same mathematics. `(?!...)` keeps longer names of commands whole.
def respell(old, new):
    return lambda text: re.sub(old + "(?![A-Za-z])" if old[-1].isalpha() else old, lambda _: new, text)


def pad_brackets(left, right):
    def pad(text):
        if re.search(r"\\(?:left|right|[bB]ig|text)|\]|\$|\\\(", text) or text.count("(") != text.count(")"):
            return text
        return text.replace("(", left).replace(")", right)

    return pad


WRAPPINGS = {
    "dollars": "${}$", "two dollars": "$${}$$", "parentheses": r"\({}\)", "square brackets": r"\[{}\]",
    "braces": "{{{}}}", "display style": r"\displaystyle {}", "display style in braces": r"{{\displaystyle {}}}",
    "large": r"\large {}", "bold symbols": r"\boldsymbol{{{}}}", "color": r"{{\color{{red}} {}}}",
    "text color": r"\textcolor{{blue}}{{{}}}", "a box": r"\boxed{{{}}}", "bold in Markdown": "**{}**",
    "bold outside dollars": "**${}$**", "spaces": "  {} ", "lines": "\n{}\n", "thin spaces": r"\,{}\,",
    "a wide space": r"{}\quad", "no space": r"{}\!", "a period": "{}.", "a space of no width": "\u200b{}",
}  # fmt: skip
SPACES = {"two spaces": "  ", "a line": "\n", "a tie": "~", "a space that does not break": "\u00a0", "thin": r"\, "}
SPELLINGS = {
    **{f"{name} between": respell(r"(?<!\\) ", space) for name, space in SPACES.items()},
    **{
        f"{new} for {old}": respell(re.escape(old), new)
        for old, new in [
            *((r"\frac{", rf"\{letter}frac{{") for letter in "dtc"),
            *((r"\le", one) for one in (r"\leq", r"\leqslant", "≤")),
            *((r"\ge", one) for one in (r"\geq", r"\geqslant", "≥")),
            *((r"\ne", one) for one in (r"\neq", "≠")),
            *((r"\times", one) for one in (r"\cdot", "×")),
            *((r"\cdot", one) for one in (r"\times", "·")),
            *((r"\mathbb{R}", one) for one in (r"\mathbb R", "ℝ")),
            *((r"\mathbb{Z}", one) for one in (r"\mathbb Z", "ℤ")),
            *((r"\text{", rf"\{font}{{") for font in ("textrm", "textbf", "mbox", "mathrm")),
            *((r"\infty", "∞"), (r"\pi", "π"), (r"\cup", "∪"), (r"\in", "∈"), (r"\equiv", "≡"), (r"\emptyset", "∅")),
            *(("-", "−"), ("<", r"\lt "), (">", r"\gt "), (r"\{", r"\lbrace "), (r"\}", r"\rbrace ")),
            *((r"\mid", "|"), (r"\sqrt{", "√{")),
        ]
    },
    "a space after a comma": lambda text: re.sub(r"(?<!\\),(?=[^\s\d])", ", ", text),
    "no space after a comma": lambda text: re.sub(r"(?<!\\), (?=\D)", ",", text),
    "large brackets": pad_brackets(r"\left(", r"\right)"),
    "large brackets and spaces": pad_brackets(r"\bigl( ", r" \bigr)"),
    "large braces": lambda text: text.replace(r"\{", r"\left\{").replace(r"\}", r"\right\}"),
    "an exponent in braces": lambda text: re.sub(r"\^(\w)(?![\w}])", r"^{\1}", text),
    "an exponent without braces": lambda text: re.sub(r"\^\{(\w)\}", r"^\1", text),
    "a raised digit": lambda text: re.sub(r"\^(?:2(?!\d)|\{2\})", "²", text),
    "a fraction in braces": lambda text: re.sub(r"\\frac(\d)(\d)", r"\\frac{\1}{\2}", text),
    "a fraction without braces": lambda text: re.sub(r"\\frac\{(\d)\}\{(\d)\}", r"\\frac\1\2", text),
}
CHANGES = {**{name: wrapping.format for name, wrapping in WRAPPINGS.items()}, **SPELLINGS}


def check_spelling(name, triples):
    """Judge with one side respelled."""
    change, broken, judged = CHANGES[name], [], 0
    for gold, answer, verdict in triples:
        for pair in ((change(gold), answer), (gold, change(answer))):
            if pair != (gold, answer):
                judged += 1
                if (given := judge(*pair)) is not verdict:
                    broken.append(f"{pair[0]!r} # {pair[1]!r}: {given}, not {verdict}")
    assert_none((f"{name}: {one}" for one in broken), judged)
    return judged


def test_the_spelling_of_templates_does_not_matter():
    assert all(check_spelling(name, TEMPLATES) > 0 for name in CHANGES)


@pytest.mark.slow
def test_the_spelling_of_real_answers_does_not_matter():
    triples = [(*pair, judge(*pair)) for pair in read_pairs() if all(map(is_plain, pair))]
    for name in CHANGES:
        check_spelling(name, triples)


@given(TREES, st.sampled_from([*CHANGES]), st.sampled_from([*CHANGES]))
def test_the_spelling_of_expressions_does_not_matter(tree, one, other):
    gold, wrong = sympy.latex(tree), sympy.latex(tree + 1)
    assert judge(CHANGES[one](gold), CHANGES[other](gold)) is True
    assert judge(CHANGES[one](gold), CHANGES[other](wrong)) is False


# Equality is symmetric. The rules of units, names and labels are not, since an answer may omit what the solution has.
# So are ranges, which only solutions are, and digits with their base.
ONE_SIDED = re.compile(r"[=:$%]|\\text|\\circ|\\in\b|\d-\d|\d_")


@pytest.mark.parametrize("source", ["templates", "real answers"])
def test_a_solution_and_an_answer_may_be_swapped(source):
    pairs = [pair for *pair, _ in TEMPLATES]
    if source != "templates":
        pairs = [pair for pair in read_pairs() if all(map(is_plain, pair))]
    judged = [pair for pair in pairs if not ONE_SIDED.search("".join(pair))]
    verdicts = [(*pair, judge(*pair), judge(*pair[::-1])) for pair in judged]
    assert_none([one for one in verdicts if one[2] is not one[3]], len(judged))
    assert len(judged) > (50 if source == "templates" else 1000)


# A solution answers itself. A solution that cannot be read leaves every answer unjudged.
@pytest.mark.parametrize("source", ["templates", "real answers"])
def test_a_solution_answers_itself_or_is_not_judged(source):
    golds, broken = {text for gold, answer, _ in TEMPLATES for text in (gold, answer)}, []
    if source != "templates":
        texts = [gold for gold, _ in read_pairs()]
        texts += [row["answer"] for row in read_outside_data("gsm8k_test.jsonl.gz")]
        texts += [
            row["gold"] for row in read_outside_data("pathological.dev.jsonl.gz") if len(row["gold"] or "") < 300
        ]
        golds = {*map(read_gold, texts)} - {None}
    for gold in golds:
        verdicts = [settle(gold, answer, AnswerRules()) for answer in (gold, "5", "0", "x", r"\text{even}", "(1,2]")]
        if (verdicts[0] is not True and {*verdicts} != {None}) or (read(gold) is None) is not (verdicts[0] is None):
            broken.append(f"{gold} is {'not ' * (read(gold) is None)}read: {verdicts}")
    assert_none(broken, len(golds))
    assert len(golds) > (100 if source == "templates" else 1500)
