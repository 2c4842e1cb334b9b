"""How two values of any kind are compared: the kinds are asked in their order, and the first that decides is right."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from .equivalence import are_same_up_to_constants
from .values import Number, Value, Values
from .work import COST_OF_COMPARISONS, spend


MAX_ITEMS = 60


class Undecided:
    """What a kind returns if another kind must decide."""


UNDECIDED = Undecided()
Verdict = bool | None | Undecided  # whether two values are equal, or None if that cannot be computed


@dataclass(frozen=True)
class AnswerRules:
    """The conditions under which an answer equals the gold answer: options of [`boxed`], which describes them."""

    tolerance: float | None = None
    units: Literal["may_omit", "ignore", "must_match"] = "may_omit"
    evaluated: bool = False


class Kind(NamedTuple):
    """A kind of value."""

    holds: Callable[[Value], bool]  # whether a value is of this kind
    match: "Callable[[Value, Value, Same], Verdict]"  # one of both values is of this kind
    is_open: Callable[[Value, Callable[[Value], bool]], bool] | None = None  # by default, if a part of it is open


class Same:
    """Compares values, and for the kinds their parts, whose constants are not renamed in one part alone."""

    def __init__(self, kinds: Sequence[Kind], rules: AnswerRules, is_part: bool = False) -> None:
        self.kinds = kinds
        self.rules = rules
        self.is_part = is_part

    def __call__(self, gold: Value, answer: Value) -> bool | None:
        if gold == answer:
            return True
        if isinstance(gold, Number) and isinstance(answer, Number) and self.rules.tolerance is None:
            return False  # as most are
        for kind in self.kinds:
            if kind.holds(gold) or kind.holds(answer):
                spend(COST_OF_COMPARISONS)
                verdict = kind.match(gold, answer, self)
                if not isinstance(verdict, Undecided):
                    return verdict
        return False

    def in_order(self, golds: Values, answers: Values) -> bool | None:
        if len(golds) != len(answers):
            return False
        same = self.of_parts()
        verdict = conjoin([same(one, other) for one, other in zip(golds, answers, strict=True)])
        return verdict or (not self.is_part and are_same_up_to_constants(golds, answers)) or verdict

    def in_any_order(self, golds: Values, answers: Values) -> bool | None:
        if len(golds) != len(answers):
            return False
        if len(golds) > MAX_ITEMS:
            return Counter(golds) == Counter(answers)
        return self.is_renamed(golds, answers) or self.pair_up(golds, answers)

    def is_renamed(self, golds: Values, answers: Values) -> bool:
        """Return whether answers in some order are the same as golds up to constants. Only three may be reordered."""
        if self.is_part or len(golds) > 3:
            return False
        return any(are_same_up_to_constants(golds, order) for order in itertools.permutations(answers))

    def pair_up(self, golds: Values, answers: Values) -> bool | None:
        """Return whether each gold value has an answer of its own, or None if that is not known of some."""
        same = self.of_parts()
        left = list(answers)
        is_known = True
        for gold in golds:
            verdicts = [same(gold, answer) for answer in left]
            if True in verdicts:
                left.pop(verdicts.index(True))
            elif None in verdicts:
                is_known = False
            else:
                return False
        return is_known or None

    def with_units(self) -> "Same":
        return Same(self.kinds, replace(self.rules, units="must_match"), self.is_part)

    def of_parts(self) -> "Same":
        return Same(self.kinds, self.rules, is_part=True)


def conjoin(verdicts: Sequence[bool | None]) -> bool | None:
    if False in verdicts:
        return False
    return None if None in verdicts else True
