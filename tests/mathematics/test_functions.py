"""The table of functions: each is read in every spelling, and computed as mpmath does."""

import mpmath
import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.functions import CONTEXT, FUNCTIONS


SPELLINGS = [
    (name, text)
    for name, (_, commands, bare) in FUNCTIONS.items()
    for text in [rf"\{name}", *(rf"\{one}" for one in f"{commands} {bare}".split()), *bare.split(), rf"\operatorname{{{name}}}"]
]  # fmt: skip


@pytest.mark.parametrize("name, text", SPELLINGS)
def test_a_function_is_read_in_every_spelling(name, text):
    assert is_equal(rf"\{name}(x) + 1", f"1 + {text}(x)") is True
    assert is_equal(rf"\{name}(x) + 1", f"1 + {text}(x+1)") is False


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if hasattr(mpmath, name.replace("arc", "a"))])
def test_a_function_is_computed_as_by_mpmath(name):
    point = mpmath.mpf("0.3") if "arc" in name and name[-1] in "nh" and name != "arccosh" else mpmath.mpf("2.3")
    with mpmath.workdps(40):
        expected = getattr(mpmath, name.replace("arc", "a"))(point)
    assert abs(complex(FUNCTIONS[name].compute(CONTEXT.mpf(str(point)))) - complex(expected)) < 1e-12


def test_precision_is_kept():
    for function in FUNCTIONS.values():
        function.compute(CONTEXT.mpf("0.3"))
    assert CONTEXT.prec == 320
