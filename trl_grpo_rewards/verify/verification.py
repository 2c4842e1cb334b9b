"""Verify pairs of a gold answer and an answer without ever hanging."""

import logging
from collections.abc import Sequence
from typing import Literal, NamedTuple

from ..mathematics.matching import AnswerRules
from ..mathematics.tokens import spell
from . import second_opinion
from .equality import is_readable, is_unfit, settle


logger = logging.getLogger(__name__)

FAULT_MESSAGES = {
    "timeout": "Verifying an answer exceeded the time limit, so the answer counts as wrong. If this happens often, store "
    "solutions in a simpler form.",
    "gold": "A solution cannot be read, so its completions are not scored. To list such solutions, run `trl-grpo-rewards check "
    "--details`.",
    "worker": "math-verify could not be started, or it was killed from outside, so completions are not scored. To see "
    "the error, run `python -m trl_grpo_rewards.verify.symbolic` in a terminal.",
}
"""The log message for each fault."""

WARNED: set[str] = set()


class Verification(NamedTuple):
    """The result of verifying a pair."""

    equal: bool | None
    """Whether the answer equals the gold answer, or None if the gold answer cannot be read or math-verify was killed."""
    fault: Literal["timeout", "gold", "worker"] | None = None
    """What went wrong, as a key of [`FAULT_MESSAGES`]."""
    asked: bool = False
    """Whether math-verify was asked about the gold answer or the pair."""


def verify_pairs(pairs: Sequence[tuple[str | None, str | None]], rules: AnswerRules) -> list[Verification]:
    """Verify each pair of a gold answer and an answer, both of which may be missing. Equal pairs are verified once."""
    verifications = {pair: verify_pair(*pair, rules) for pair in dict.fromkeys(pairs)}
    for (gold, answer), (_, fault, _) in verifications.items():
        if gold is not None and fault is not None and fault not in WARNED:
            WARNED.add(fault)
            warning = "%s This is shown once; the answer is %.200r and the solution is %.200r."
            logger.warning(warning, FAULT_MESSAGES[fault], answer, gold)
    return [verifications[pair] for pair in pairs]


def verify_pair(gold: str | None, answer: str | None, rules: AnswerRules) -> Verification:
    if gold is None:
        return Verification(None, "gold")
    asked = not is_readable(gold)
    try:
        if asked and (is_unfit(gold) or not second_opinion.ask(spell(gold), spell(gold))):
            return Verification(None, "gold", not is_unfit(gold))
        if not answer or (asked and spell(gold) == spell(answer)):
            return Verification(bool(answer), None, asked)
        if (verdict := settle(gold, answer, rules)) is not None or is_unfit(gold) or is_unfit(answer):
            return Verification(bool(verdict), None, asked)
        opinion = second_opinion.ask(spell(gold), spell(answer))
        return Verification(bool(opinion), "timeout" if opinion is None else None, True)
    except OSError:
        return Verification(None, "worker", True)
