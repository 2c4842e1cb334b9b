"""No honest program is paid once its functions return what agrees to everything, in whatever form its tests are."""

from hypothesis import settings

from helpers.corpora import HONEST
from helpers.mutated_programs import find_paid


MUTANTS = 12 * settings().max_examples
"""300, and 6,000 with `--hypothesis-profile=thorough`."""


def test_no_mutant_is_paid_that_its_tests_test():
    paid, tried = find_paid([*HONEST.values()], MUTANTS)
    assert "\n\n".join(paid) == "" and tried > 0.8 * MUTANTS
