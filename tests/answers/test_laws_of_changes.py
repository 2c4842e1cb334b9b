r"""
Laws of what is changed: a rewritten expression is equal, and another value is wrong.

Whether a change keeps the value is decided without the package, by mpmath.
"""

import re

import mpmath
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

from helpers.answer_laws import TREES, are_same, assert_none, evaluate_text, judge, read_pairs, x


REWRITES = [sympy.expand, sympy.factor, sympy.together, sympy.cancel, sympy.simplify, sympy.powsimp, sympy.expand_trig]


@given(TREES, st.sampled_from(REWRITES))
def test_a_rewritten_expression_is_right(tree, rewrite):
    rewritten = rewrite(tree)
    assume(not rewritten.has(sympy.nan, sympy.zoo, sympy.I))
    assume(are_same(tree, rewritten) is True)
    assert judge(sympy.latex(tree), sympy.latex(rewritten)) is True
    assert judge(sympy.latex(rewritten), sympy.latex(tree)) is True


CHANGES = [lambda part: part + 1, lambda part: -part, lambda part: 2 * part, lambda part: part + x]
larger = TREES.filter(lambda tree: sympy.count_ops(tree) > 1)


@given(larger, st.integers(0, 30), st.sampled_from(CHANGES), st.sampled_from([*REWRITES[:4], lambda tree: tree]))
def test_a_changed_expression_is_wrong(tree, place, change, rewrite):
    """Change a part of an expression, and rewrite the result so that it does not look like the expression."""
    part = [*sympy.preorder_traversal(tree)][place % sympy.count_ops(tree, visual=False)]
    changed = rewrite(tree.xreplace({part: change(part)}))
    assume(not changed.has(sympy.nan, sympy.zoo, sympy.I))
    assume(are_same(tree, changed) is False)
    assert judge(sympy.latex(tree), sympy.latex(changed)) is False
    assert judge(sympy.latex(changed), sympy.latex(tree)) is False


# A value in brackets is its items: in order, except in sets and lists. Each notation is a pair of brackets and a separator.
NUMBERS = st.one_of(
    st.integers(-40, 40).map(str),
    st.builds("{}.{}".format, st.integers(-9, 9), st.sampled_from(["5", "25", "125"])),
    st.builds(r"\frac{{{}}}{{{}}}".format, st.integers(-9, 9), st.integers(2, 9)),
    st.builds(r"{}\sqrt{{{}}}".format, st.integers(2, 5), st.sampled_from([2, 3, 5])),
    st.builds(r"\frac{{{}\pi}}{{{}}}".format, st.integers(2, 7), st.integers(2, 9)),
    st.builds(r"{} \times 10^{{{}}}".format, st.integers(1, 9), st.integers(2, 6)),
)
ORDERED = [("(", ", ", ")"), (r"\langle ", ",", r"\rangle"), (r"\begin{pmatrix}", r"\\", r"\end{pmatrix}")]
MATRICES = [(rf"\begin{{{name}matrix}}", " & ", rf"\end{{{name}matrix}}") for name in "pb"]
SETS = [(r"\{", ", ", r"\}"), (r"\left\{", ",", r"\right\}")]
LISTS = [("", ", ", ""), ("", r"\text{ and }", ""), ("x=", r"\text{ or }x=", "")]
INTERVALS = {
    "()": [("(", ",", ")"), ("]", ",", "["), ("", "<x<", "")],
    "[)": [("[", ",", ")"), ("[", ",", "["), ("", r"\le x<", "")],
    "(]": [("(", ",", "]"), ("]", ",", "]"), ("", r"<x\le ", "")],
    "[]": [("[", ",", "]"), (r"x\in[", ", ", "]"), ("", r"\leq x\leq ", "")],
}


def write(notation, items):
    opening, separator, closing = notation
    return opening + separator.join(items) + closing


def are_different(items, others, ordered):
    values = [[evaluate_text(item) for item in each] for each in (items, others)]
    if None in values[0] + values[1]:
        return False
    if not ordered:
        values = [sorted(each) for each in values]
    with mpmath.workdps(30):
        return len(items) != len(others) or not all(
            mpmath.almosteq(*pair, 1e-20, 1e-20) for pair in zip(*values, strict=True)
        )


def change_items(items):
    """Return the items with one number changed, with a sign flipped, with one item dropped, and with two swapped."""
    for place, item in enumerate(items):
        before, after = items[:place], items[place + 1 :]
        number = re.search(r"\d+", item)
        yield [*before, item[: number.start()] + str(int(number[0]) + 1) + item[number.end() :], *after]
        yield [*before, item[1:] if item.startswith("-") else f"-{item}", *after]
        if len(items) > 1:
            yield [*before, *after]
        if after:
            yield [*before, after[0], item, *after[1:]]


@given(NUMBERS, st.sampled_from(["{}", "x={}", "${}$", r"{}\text{{ cm}}", r"x = {}", r"\text{{Area}}={}"]))
def test_a_changed_number_is_wrong(number, form):
    gold = form.format(number)
    assert judge(gold, number) is judge(gold, gold) is True
    wrong = [one[0] for one in change_items([number]) if are_different([number], one, True)]
    assert [answer for one in wrong for answer in (one, form.format(one)) if judge(gold, answer)] == []


several = st.lists(NUMBERS, min_size=2, max_size=4, unique_by=lambda text: round(float(evaluate_text(text)), 9))


@given(several, st.sampled_from([(ORDERED, True), (MATRICES, True), (SETS, False), (LISTS, False)]), st.data())
def test_changed_items_are_wrong(items, form, data):
    notations, ordered = form
    draw = st.sampled_from(notations)
    gold = write(data.draw(draw), items)
    same = items if ordered else data.draw(st.permutations(items))
    answer = write(data.draw(draw), same)
    assert (gold, answer, judge(gold, answer)) == (gold, answer, True)
    notation = data.draw(draw)
    wrong = [write(notation, others) for others in change_items(items) if are_different(items, others, ordered)]
    assert (gold, [answer for answer in wrong if judge(gold, answer)]) == (gold, [])


@given(several.map(lambda items: sorted(items, key=evaluate_text)[:2]), st.sampled_from([*INTERVALS]), st.data())
def test_changed_ends_of_intervals_are_wrong(ends, brackets, data):
    gold = write(data.draw(st.sampled_from(INTERVALS[brackets])), ends)
    answer = write(data.draw(st.sampled_from(INTERVALS[brackets])), ends)
    assert (gold, answer, judge(gold, answer)) == (gold, answer, True)
    wrong = [write(one, ends) for others in INTERVALS.keys() - {brackets} for one in INTERVALS[others]]
    wrong += [
        write(one, others)
        for one in INTERVALS[brackets]
        for others in change_items(ends)
        if len(others) == 2 and are_different(ends, others, True)
    ]
    assert (gold, [answer for answer in wrong if judge(gold, answer)]) == (gold, [])


# A right real answer is changed in the same ways. A list without brackets has no order.
BRACKETED = re.compile(r"((?:\\left)?(?:[(\[]|\\\{)|)(.*?)((?:\\right)?(?:[)\]]|\\\})|)")


def test_changed_real_answers_are_wrong():
    broken, judged = [], 0
    for gold, answer in read_pairs():
        opening, inside, closing = (
            BRACKETED.fullmatch(answer).groups() if BRACKETED.fullmatch(answer) else ("", "", "")
        )
        items = inside.split(",") if opening else [inside]
        if not all(re.search(r"\d", item) for item in items) or len({*items}) < len(items):
            continue
        if bool(opening) is not bool(closing) or any(evaluate_text(item) is None for item in items):
            continue
        if judge(gold, answer) is not True:
            continue
        for others in change_items(items):
            if are_different(items, others, "{" not in opening):
                judged += 1
                if judge(gold, write((opening, ",", closing), others)):
                    broken.append(f"{gold} # {answer}, and also {write((opening, ',', closing), others)}")
    assert judged > 1000
    assert_none(broken, judged)
