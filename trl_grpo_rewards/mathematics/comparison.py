"""Comparison of answers by their values."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from .agreement import are_congruent, compare_expressions, compare_words
from .arrays import as_matrix
from .equivalence import are_equal_expressions
from .families import are_same_families
from .lists import as_collection, find_item_names, is_ordered, name_of, strip_names
from .names import find_function, find_labelled_value, find_residue, have_same_name
from .notations import as_family, find_ends, find_set, find_variables
from .piecewise import compare_cases
from .relations import FLIPS, compare_differences
from .sets import are_same_sets, is_set
from .units import Unit, match_units
from .values import (
    Builder,
    Cases,
    Collection,
    Dashed,
    Family,
    Labelled,
    Matrix,
    Number,
    Operation,
    Quantity,
    Ratio,
    Relation,
    Symbol,
    Text,
    Value,
    find_symbols,
    is_expression,
    rename,
)


SYMMETRIC = {"=", "\\ne", "\\approx", "\\perp", "\\parallel", "\\equiv", "\\cong", "\\sim", "~"}
FORMAL = {
    **dict.fromkeys(("\\cup", "\\cap", "\\lor", "\\land", "\\oplus", "\\leftrightarrow", "\\iff"), True),
    **dict.fromkeys(("\\setminus", "\\to", "\\neg", "\\otimes", "pmod", ":"), False),
}
"""Operations that are not on numbers, and whether their operands have no order."""

MAX_ITEMS = 60
"""Largest number of items of two lists that are compared pair by pair."""

PERCENT: Unit = (("%", 1),)
AMBIGUOUS: set[Unit] = {(("kelvin", 1),), (("'", 1),), (("''", 1),)}
"""Units whose sign may mean something else if the gold answer has no unit: K for thousands, primes for derivatives."""


@dataclass(frozen=True)
class AnswerRules:
    r"""
    The conditions under which an answer equals the gold answer.

    Args:
        tolerance (`float`, *optional*):
            Maximum difference of two equal numbers, absolute or relative to the larger one. The default is 0.
        units (`str`, *optional*, defaults to `"may_omit"`):
            With `"may_omit"`, a unit that the answer names must be the gold answer's, if that has one. With `"ignore"`,
            only the values count. With `"must_match"`, a gold answer with a unit requires the same unit. `50\%` equals
            `0.5`, and also `50` unless units must match.
        evaluated (`bool`, *optional*, defaults to `False`):
            Whether the answer must be worked out, unless the gold answer itself is not.
    """

    tolerance: float | None = None
    units: Literal["may_omit", "ignore", "must_match"] = "may_omit"
    evaluated: bool = False


def compare(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """Return whether two values are equal, or None if that cannot be computed."""
    if gold == answer:
        return True
    if isinstance(gold, Family) or isinstance(answer, Family):
        return compare_families(gold, answer, rules)
    if isinstance(gold, Labelled) or isinstance(answer, Labelled):
        return compare_labelled(gold, answer, rules)
    if isinstance(gold, Dashed) or isinstance(answer, Dashed):
        return compare_dashed(gold, answer, rules)
    if is_set(gold) or is_set(answer):
        verdict = compare_sets(gold, answer, rules)
        if verdict is not None:
            return verdict
    ends = find_ends(gold), find_ends(answer)
    if ends[0] is not None and ends[1] is not None:
        return ends[0][0] == ends[1][0] and compare_in_order(ends[0][1], ends[1][1], rules)
    if isinstance(gold, Builder) and isinstance(answer, Builder):
        alike = (gold.head, gold.domain) == (answer.head, answer.domain)
        return alike and compare(gold.condition, answer.condition, rules)
    if isinstance(gold, Relation) or isinstance(answer, Relation):
        return compare_relations(gold, answer, rules)
    if isinstance(gold, Quantity) or isinstance(answer, Quantity):
        return compare_quantities(gold, answer, rules)
    if isinstance(gold, Collection | Matrix) or isinstance(answer, Collection | Matrix):
        return compare_collections(gold, answer, rules)
    if isinstance(gold, Cases) and isinstance(answer, Cases):
        return compare_cases(gold, answer, lambda one, other: compare(one, other, rules))
    if isinstance(gold, Ratio) or isinstance(answer, Ratio):
        return compare_ratios(gold, answer, rules)
    if isinstance(gold, Text) and isinstance(answer, Text):
        return compare_words(gold, answer)
    if isinstance(gold, Text) or isinstance(answer, Text):
        return compare_letters(*((gold, answer) if isinstance(gold, Text) else (answer, gold)))
    if is_formal(gold) or is_formal(answer):
        return compare_formal(gold, answer, rules)
    if is_expression(gold) and is_expression(answer):
        return compare_expressions(gold, answer, rules.tolerance)
    if isinstance(gold, Operation) and isinstance(answer, Operation) and gold.name == answer.name:
        return compare_in_order(gold.operands, answer.operands, rules)
    return False


def is_formal(value: Value) -> bool:
    return isinstance(value, Operation) and value.name in FORMAL


def compare_formal(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """Compare operations on sets and statements by their operands."""
    if not (isinstance(gold, Operation) and isinstance(answer, Operation) and gold.name == answer.name):
        return False
    if gold.name == "pmod" and (verdict := are_congruent(gold, answer)) is not None:
        return verdict
    if FORMAL[gold.name]:
        return compare_without_order(Collection("", gold.operands), Collection("", answer.operands), rules)
    return compare_in_order(gold.operands, answer.operands, rules)


def compare_families(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """Compare values for all integers, whatever the index is called."""
    one, other = as_family(gold), as_family(answer)
    if isinstance(one, Family) and isinstance(other, Family):
        return compare(one.value, rename(other.value, other.index, one.index), rules)
    return compare(
        one.value if isinstance(one, Family) else one, other.value if isinstance(other, Family) else other, rules
    )


def compare_labelled(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """Compare choices: the letter alone, or what it stands for, is enough."""
    if isinstance(gold, Labelled) and isinstance(answer, Labelled):
        return gold.letter == answer.letter
    labelled, other = (gold, answer) if isinstance(gold, Labelled) else (answer, gold)
    assert isinstance(labelled, Labelled)
    if other == Symbol(labelled.letter):
        return True
    pair = (labelled.value, other) if labelled is gold else (other, labelled.value)
    return compare(*pair, rules)


def compare_dashed(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """
    Compare numbers joined by hyphens or by `to`.

    As a gold answer they are a range or a date. In an answer they may also be a difference, or a ratio.
    """
    if isinstance(gold, Dashed) and isinstance(answer, Dashed):
        return gold.numbers == answer.numbers
    if isinstance(gold, Dashed):
        first, *rest = gold.numbers
        return answer == Operation("+", (Number(first), *(Number(-number) for number in rest)))  # 5 - 6 with spaces
    assert isinstance(answer, Dashed)
    if answer.word:
        return compare(gold, Ratio(tuple(map(Number, answer.numbers))), rules) if isinstance(gold, Ratio) else False
    first, *rest = answer.numbers
    return compare(gold, Number(first - sum(rest)), rules)


def compare_letters(text: Text, other: Value) -> bool:
    """Compare a word with a product of letters: `\\text{ABC}` and `ABC`."""
    operands = other.operands if isinstance(other, Operation) and other.name == "*" else ()
    names = [operand.name for operand in operands if isinstance(operand, Symbol)]
    return len(names) == len(operands) > 0 and text.words == ("".join(names).casefold(),)


def compare_ratios(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """Compare ratios term by term, up to a common factor. A ratio of two terms also equals their quotient."""
    terms = [value.terms if isinstance(value, Ratio) else None for value in (gold, answer)]
    if terms[0] is None or terms[1] is None:
        ratio, other = (terms[0], answer) if terms[0] is not None else (terms[1], gold)
        if ratio is None or len(ratio) != 2 or not is_expression(other) or not all(map(is_expression, ratio)):
            return False
        return compare_expressions(other, Operation("/", ratio), rules.tolerance)
    if len(terms[0]) != len(terms[1]) or not all(map(is_expression, (*terms[0], *terms[1]))):
        return False
    products = [
        (Operation("*", (one, terms[1][0])), Operation("*", (other, terms[0][0])))
        for one, other in zip(terms[0][1:], terms[1][1:], strict=True)
    ]
    return conjoin([are_equal_expressions(*pair) for pair in products])


def compare_quantities(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """Compare values with units, as far as the rules require units."""
    for one, other in ((gold, answer), (answer, gold)):
        if isinstance(one, Quantity) and one.product is not None and has_variables(other):
            gold, answer = (one.product, other) if one is gold else (other, one.product)
            break
    if isinstance(gold, Quantity) and gold.product is not None and not isinstance(answer, Quantity):
        gold = gold.product  # its letter may be a variable
    value, unit = (gold.value, gold.unit) if isinstance(gold, Quantity) else (gold, ())
    given, its_unit = (answer.value, answer.unit) if isinstance(answer, Quantity) else (answer, ())
    if not unit and not its_unit:
        return compare(value, given, rules)
    if its_unit in AMBIGUOUS and not unit:
        return False
    strict = rules.units == "must_match"
    if PERCENT in (unit, its_unit) and () in (unit, its_unit):
        scaled = (divide(value), given) if unit else (value, divide(given))
        verdict = compare(*scaled, rules)
        return verdict if strict or verdict else compare(value, given, rules)
    if strict and unit and unit != its_unit:
        return False
    if rules.units == "may_omit" and unit and its_unit and not match_units(unit, its_unit):
        return False
    return compare(value, given, rules)


def has_variables(value: Value) -> bool:
    value = value.product if isinstance(value, Quantity) and value.product is not None else value
    return is_expression(value) and bool(find_symbols(value))


def divide(value: Value) -> Value:
    return Operation("/", (value, Number(Fraction(100)))) if is_expression(value) else value


def compare_sets(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """Compare sets of numbers, or return None if they are not sets whose ends are numbers."""
    values = [find_set(value) for value in (gold, answer)]
    if values[0] is None or values[1] is None:
        return None
    names = [find_variables(value) for value in (gold, answer)]
    if all(isinstance(value, Relation | Collection) for value in (gold, answer)) and names[0] and names[1]:
        if names[0] != names[1] and "" not in names[0] | names[1]:
            return False
    return are_same_sets(values[0], values[1])


def compare_relations(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """Compare equations and inequalities, or the value that a name has with a value."""
    if not isinstance(gold, Relation) or not isinstance(answer, Relation):
        relation, other = (gold, answer) if isinstance(gold, Relation) else (answer, gold)
        assert isinstance(relation, Relation)
        value = find_residue(relation) or find_labelled_value(relation)
        if value is None:
            return False
        verdict = compare(value, other, rules) if relation is gold else compare(other, value, rules)
        return (
            verdict
            or are_same_solutions(gold, value if relation is gold else other, value if relation is answer else other)
            or verdict
        )
    values = find_labelled_value(gold), find_labelled_value(answer)
    if values[0] is not None and values[1] is not None and have_same_name(name_of(gold), name_of(answer)):
        verdict = compare(values[0], values[1], rules)
        return verdict or are_same_solutions(gold, values[0], values[1]) or verdict
    if len(gold.sides) != len(answer.sides):
        return False
    if len(gold.sides) == 2 and gold.signs[0] in FLIPS and answer.signs[0] in FLIPS:
        return compare_differences(gold, answer)
    if gold.signs == answer.signs:
        verdict = compare_in_order(gold.sides, answer.sides, rules)
        if verdict is not False or not set(gold.signs) <= SYMMETRIC:
            return verdict
        return compare_in_order(gold.sides, answer.sides[::-1], rules)
    if tuple(FLIPS.get(sign, "") for sign in gold.signs) == answer.signs[::-1]:
        return compare_in_order(gold.sides, answer.sides[::-1], rules)
    return False


def are_same_solutions(gold: Value, value: Value, answer: Value) -> bool:
    """Return whether `y = Ce^x` and `y = Ae^x` are the same, as they are as solutions of a differential equation."""
    if not isinstance(gold, Relation) or find_function(name_of(gold)) is None:
        return False
    return is_expression(value) and is_expression(answer) and are_same_families(value, answer, is_solution=True)


def compare_collections(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """Compare lists, sets, tuples, intervals, vectors and matrices."""
    if isinstance(gold, Matrix) != isinstance(answer, Matrix):
        gold, answer = (
            as_matrix(one, other) if isinstance(other, Matrix) else one
            for one, other in ((gold, answer), (answer, gold))
        )
    if isinstance(gold, Matrix) and isinstance(answer, Matrix):
        if [len(row) for row in gold.rows] != [len(row) for row in answer.rows]:
            return False
        return compare_in_order(sum(gold.rows, ()), sum(answer.rows, ()), rules)
    one, other = as_collection(gold, answer), as_collection(answer, gold)
    if one is None or other is None:
        return compare_with_single(gold, answer, rules)
    if "+" in (one.brackets, other.brackets):
        same = one.brackets == other.brackets and len(one.items) == len(other.items)
        return same and compare_in_order(one.items, other.items, AnswerRules(rules.tolerance, "must_match"))
    names, its_names = find_item_names(one), find_item_names(other)
    if names and its_names and len(set(names)) == len(names) > 1:
        if sorted(names) != sorted(its_names):
            return False
        order = [its_names.index(name) for name in names]
        other = Collection("<>", tuple(other.items[place] for place in order))
        one = Collection("<>", one.items)
    one, other = strip_names(one, names), strip_names(other, its_names)
    ordered = is_ordered(one), is_ordered(other)
    if ordered[0] and ordered[1]:
        alike = one.brackets == other.brackets or "<>" in (one.brackets, other.brackets) or len(one.items) > 2
        return alike and compare_in_order(one.items, other.items, rules)
    if ordered[0] or ordered[1]:
        if "{}" in (one.brackets, other.brackets):
            return False
        return compare_in_order(one.items, other.items, rules)
    return compare_without_order(one, other, rules)


def compare_with_single(gold: Value, answer: Value, rules: AnswerRules) -> bool | None:
    """
    Compare a collection with one value: a set of one value is that value, and `3,14` may be a decimal.

    A list whose values are all equal to the gold answer gives it in several forms.
    """
    if isinstance(answer, Collection) and answer.brackets == "" and not isinstance(gold, Collection):
        is_named = any(isinstance(item, Relation) for item in answer.items)
        if not is_named and conjoin([compare(gold, item, rules) for item in answer.items]):
            return True
    if isinstance(gold, Collection):
        if holds_one_value(gold):
            return compare(gold.items[0], answer, rules)
        return gold.decimal is not None and compare(Number(gold.decimal), answer, rules)
    if isinstance(answer, Collection):
        if holds_one_value(answer):
            return compare(gold, answer.items[0], rules)
        return answer.decimal is not None and compare(gold, Number(answer.decimal), rules)
    return False


def holds_one_value(value: Collection) -> bool:
    r"""Whether a value is a set of one value that is no set itself, as in `\{\emptyset\}`."""
    item = value.items[0]
    is_set_itself = item == Symbol("\\emptyset") or (isinstance(item, Collection) and item.brackets == "{}")
    return value.brackets == "{}" and len(value.items) == 1 and not is_set_itself


def compare_in_order(items: Sequence[Value], others: Sequence[Value], rules: AnswerRules) -> bool | None:
    if len(items) != len(others):
        return False
    return conjoin([compare(one, other, rules) for one, other in zip(items, others, strict=True)])


def conjoin(verdicts: Sequence[bool | None]) -> bool | None:
    return False if False in verdicts else None if None in verdicts else True


def compare_without_order(gold: Collection, answer: Collection, rules: AnswerRules) -> bool | None:
    """Return whether each item of one collection equals an item of the other."""
    items, others = list(gold.items), list(answer.items)
    if gold.brackets == answer.brackets == "{}":
        items, others = list(dict.fromkeys(items)), list(dict.fromkeys(others))
    if len(items) != len(others):
        return False
    if len(items) > MAX_ITEMS:
        return sorted(map(repr, items)) == sorted(map(repr, others))
    unknown = False
    for item in items:
        verdicts = [compare(item, other, rules) for other in others]
        if True in verdicts:
            others.pop(verdicts.index(True))
        elif None in verdicts:
            unknown = True
        else:
            return False
    return None if unknown else True
