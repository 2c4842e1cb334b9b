"""The tables: each unit, function, sign and word in every spelling. Functions are computed as mpmath does."""

import re
from pathlib import Path

import mpmath

from helpers.values import is_equal
from trl_grpo_rewards.answers.mathematics.functions import CONTEXT, FUNCTIONS
from trl_grpo_rewards.answers.mathematics.grammar import read
from trl_grpo_rewards.answers.mathematics.kinds.quantities import Quantity
from trl_grpo_rewards.answers.mathematics.spellings import SIGN_COMMANDS, SYNONYMS, normalize_signs, skip_group
from trl_grpo_rewards.answers.mathematics.units import TABLE, UNIT_OF, parse_unit
from trl_grpo_rewards.answers.mathematics.values import list_parts
from trl_grpo_rewards.answers.mathematics.words import changes


def test_no_unit_is_a_word_that_changes_a_number():
    assert [word for word in UNIT_OF if len(word) > 1 and changes(word)] == []


def test_every_unit_is_in_a_case():
    """`tests/answers/cases.txt` has each unit of `units.txt` at least once."""
    lines = (Path(__file__).parents[1] / "cases.txt").read_text().splitlines()[1:]
    texts = {text for line in lines for text in line[2:].split(" # ", 1)}
    used = {part.unit for text in texts for part in walk(read(text)) if isinstance(part, Quantity)}
    names = [entry.split()[0].rstrip("+") for entry in re.split(r" {2,}|\n", TABLE.strip())]
    assert len(names) > 50 and [name for name in names if parse_unit(name) not in used] == []


def walk(value):
    """Yield a value, and all values in it."""
    yield value
    for part in list_parts(value) if value is not None else ():
        yield from walk(part)


def test_a_prefix_is_another_unit():
    assert is_equal(r"5\text{ kN}", "5 kilonewtons", units="must_match") is True
    assert is_equal(r"5\text{ mW}", r"5\text{ MW}") is is_equal(r"5\text{ m}", r"5\text{ km}") is False


def test_a_function_is_read_in_every_spelling():
    wrong = []
    for name, (_, commands, bare) in FUNCTIONS.items():
        texts = [rf"\{name}", rf"\operatorname{{{name}}}", *bare.split()]
        texts += [rf"\{one}" for one in f"{commands} {bare}".split()]
        for text in texts:
            verdicts = [is_equal(rf"\{name}(x) + 1", answer) for answer in (f"1 + {text}(x)", f"1 + {text}(x+1)")]
            wrong += [(name, text)] * (verdicts != [True, False])
    assert len(FUNCTIONS) > 20 and wrong == []


def test_a_function_is_computed_as_by_mpmath_and_precision_is_kept():
    wrong = []
    for name in FUNCTIONS:
        point = mpmath.mpf("0.3") if "arc" in name and name[-1] in "nh" and name != "arccosh" else mpmath.mpf("2.3")
        computed = FUNCTIONS[name].compute(CONTEXT.mpf(str(point)))
        if peer := getattr(mpmath, name.replace("arc", "a"), None):
            with mpmath.workdps(40):
                wrong += [name] * (abs(complex(computed) - complex(peer(point))) >= 1e-12)
    assert wrong == [] and CONTEXT.prec == 320


def test_signs_and_synonyms_lead_to_one_spelling():
    assert not {*SYNONYMS} & {*SYNONYMS.values()} and not {*SIGN_COMMANDS} & {*SIGN_COMMANDS.values()}
    assert normalize_signs("½×ℝ") == r"\frac{1}{2}\times \mathbb{R} "
    assert normalize_signs("US$5") == "$5" and normalize_signs("$5$").strip() == "5"
    assert skip_group("{a{b}}c", 0) == 6 and skip_group("  {a}c", 0) == 5 and skip_group("c", 0) == 0
    assert skip_group("{a{b}", 0) == 5
