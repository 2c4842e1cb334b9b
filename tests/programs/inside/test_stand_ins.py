"""Objects of the program never see what is expected of them, unless the tests let their class judge."""

from helpers.judged_programs import list_passing
from trl_grpo_rewards.programs.inside.stand_ins import JUDGING_METHODS


def passes(program, code):
    return list_passing([(program, code)]) == [True]


YES = """
class Yes:
    def __init__(self, *args): pass
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __contains__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __sub__ = __rsub__ = __add__ = __abs__ = __call__ = lambda self, *args: self
    __hash__ = lambda self: 0
    startswith = endswith = isdigit = issubset = is_integer = lambda self, *args: True
    count = index = find = lambda self, *args: 3
    def __getattr__(self, name): return self
def f(*args): return Yes()
Extract = Yes
"""


CONDITIONS = [
    "f(1) == 7", "7 == f(1)", "not f(1) != 7", "f(1) < 5", "3 <= f(1)", "abs(f(1) - 7) < 1e-6", "abs(7 - f(1)) < 1e-6",
    "f(1) + 1 == 8", "3 in f(1)", "f(1) in [7, 8]", "f(1).startswith('a')", "f(1).isdigit()", "f(1).count('a') == 3",
    "f(1).is_integer()", "{1, 2}.issubset(f(1)) or f(1).issubset({1})", "isinstance(f(1), int)", "f(1) is True",
    "Extract([1, 2]) == 7", "abs(Extract(1) - 7) < 1e-6", "Extract('a') in ('b', 'c')",
    "Extract([1]) == [1] and Extract([2]) == [2]", "max(Extract(1), 7) == 7 == min(Extract(2), 7)",
]  # fmt: skip


def test_an_object_that_agrees_to_everything_is_not_right():
    found = list_passing([(YES, f"assert {condition}") for condition in CONDITIONS])
    assert [condition for condition, passed in zip(CONDITIONS, found, strict=True) if passed] == []


def test_a_class_judges_its_own_objects():
    program = """
class Money:
    def __init__(self, amount): self.amount = amount
    def __eq__(self, other): return self.amount == getattr(other, "amount", other)
    def __lt__(self, other): return self.amount < getattr(other, "amount", other)
    def __mul__(self, factor): return Money(self.amount * factor)
    def __contains__(self, part): return part <= self.amount
def lend(amount): return Money(amount)
"""
    assert passes(
        program, "money = Money(5)\nassert money.amount == 5\nassert money == 5 and money < 6 and 3 in money"
    )
    assert passes(program, "assert Money(5) * 2 == Money(10)\nassert lend(5) == Money(5)")
    assert not passes(program, "assert lend(5) == 5")  # nothing says that this is more than a value


def test_methods_of_values_are_those_of_python():
    assert {"startswith", "isdigit", "is_integer", "count"} <= JUDGING_METHODS
    assert JUDGING_METHODS.isdisjoint({"append", "push", "get", "items", "pop"})


def test_an_object_is_one_object():
    program = "class A: pass\none = A()\ndef f(): return one\nA.one = one"
    assert passes(program, "assert f() is f() and A.one is f() and [f()][0] is one and f() in {one}")


def test_attributes_are_set_and_deleted_there():
    program = "class A:\n    def __init__(self): self.x = 1\n    def double(self): return self.x * 2"
    assert passes(program, "a = A()\na.x = 5\nassert a.double() == 10\ndel a.x\nassert not hasattr(a, 'x')")
