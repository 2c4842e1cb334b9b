"""All checks of a job."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import model_inputs
from ..dataset_rows import describe_no_dataset, list_class_names, show_rows
from ..errors import describe_reward_error
from ..expressions import Reward, leave_out_witnesses
from ..function_rewards import has_own_code, stop_asking, without_asking
from ..prompt_templates import fill_template
from ..registry import read_rewards
from ..traits import ContradictoryForms, Findings
from . import contract
from .attack_completions import KINDS
from .completions import SPELLED, Rows, Tokenize, split_words
from .dry_run import DRY_RUN, check_dry_run, check_stability
from .gameability import ATTACKS, NOT_RUN, check_attacks
from .search import find_form
from .trials import make_trials, take_rows


if TYPE_CHECKING:
    from datasets import Dataset
    from trl import GRPOConfig


def check(
    rewards: Reward | Sequence[Any],
    dataset: "Dataset",
    config: "GRPOConfig | None" = None,
    tokenizer: Any = None,
    threshold: float = 0.05,
    model_config: Any = None,
) -> list[Findings]:
    """
    Find the faults of a job that can be seen without running the model.

    Args:
        rewards ([`Reward`]):
            Expression of rewards. It may also be a function for TRL, or a list as in `reward_funcs`.
        dataset ([`~datasets.Dataset`]):
            Prompts to train on.
        config ([`~trl.GRPOConfig`], *optional*):
            Configuration of the trainer.
        tokenizer (*optional*):
            Tokenizer of the model. Without it, each word counts as a token and no chat template is checked.
        threshold (`float`, *optional*, defaults to `0.05`):
            Share of unreadable solutions above which they are a fault.
        model_config ([`~transformers.PretrainedConfig`], *optional*):
            Configuration of the model, such as `model.config`. With the tokenizer, it shows whether the prompts fit.

    Returns:
        `list[Findings]`: The findings of each check that was run. If no reward is tried, as after a fault of the first
            check, the findings of attacks and of the dry run say why.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, demo
    >>> from trl_grpo_rewards.checks import check

    >>> found = check(boxed(evaluated=True), demo.arithmetic(size=64))
    >>> [fault for one in found for fault in one.faults]
    []

    ```
    """
    rewards = read_rewards(rewards, getattr(config, "reward_weights", None))
    if not isinstance(getattr(dataset, "column_names", None), list) or not hasattr(dataset, "__len__"):
        raise TypeError(describe_no_dataset(dataset))
    dataset = show_rows(dataset)
    found = [contract.check_contract(rewards, dataset, config, tokenizer)]
    if found[0].faults:
        return found + skip("rewards, dataset and configuration do not fit together")
    dataset = fill_template(dataset, getattr(config, "prompt_template", None))
    readiness = contract.check_readiness(rewards)
    readings = contract.check_readings(rewards, dataset, threshold)
    found += [readiness, *readings] if readiness.faults or readiness.lines else readings
    if not readiness.faults:
        found += contract.check_examinations(rewards, dataset)
    if tokenizer is not None:
        options = getattr(config, "chat_template_kwargs", None)
        found.append(model_inputs.check_template(rewards, dataset, tokenizer, options))
        if model_config is not None:
            found.append(model_inputs.check_model_inputs(dataset, tokenizer, model_config, config))
    rows = take_rows(dataset)
    if any(findings.faults for findings in readings):
        rows = contract.leave_out_unreadable(rewards, rows)
    reasons = [findings.hopeless for findings in found if findings.hopeless] if rows else ["no solution can be read"]
    return found + (
        skip(reasons[0])
        if reasons
        else try_rewards(rewards, rows, tokenizer, config, found[0], list_class_names(dataset))
    )


def try_rewards(
    rewards: Reward,
    rows: Rows,
    tokenizer: Any,
    config: "GRPOConfig | None",
    contract_findings: Findings,
    names: list[dict[int, str]],
) -> list[Findings]:
    """Score example completions with the rewards. Rewards that ask a server or a person are left out."""
    offline = without_asking(rewards)
    skipped = ", ".join(reward.name for reward in rewards.rewards if stop_asking(reward).asks)
    left_out = Findings(
        "rewards that were not tried, because they ask", [f"{skipped}: checks never ask a server or a person"]
    )
    begin = [left_out] if skipped else []
    if offline is None:
        return begin + skip(f"{skipped} may ask a server or a person. If not, declare it with @reward(asks=False).")
    tokens: Tokenize = split_words if tokenizer is None else lambda text: tokenizer(text)["input_ids"]
    try:
        answers = find_form(offline, rows, tokens, names)
        again = (
            [check_stability(offline, answers, tokens, config)] if has_own_code(leave_out_witnesses(offline)) else []
        )
        trials = make_trials(offline, rows, tokens, found=answers)
    except ContradictoryForms as error:
        contradiction = Findings("rewards that were not tried", warnings=[f"No attack was tried. {error}"])
        return [*begin, contradiction, *skip("no completion can earn all rewards.")]
    except Exception as error:  # a reward raises errors of any type
        fault = describe_reward_error(error)
        if fault is None:
            raise
        return [*begin, Findings(ATTACKS, faults=[fault]), *skip("a reward raised an error")[1:]]
    if SPELLED in answers.rows[0]:  # a reward of tests, for example, is paid for what another column has
        solved = contract.UNREAD.format(answers.column)
        contract_findings.warnings[:] = [text for text in contract_findings.warnings if not text.startswith(solved)]
    dry_run = check_dry_run(trials, config, tokens, "tokens" if tokenizer else "words")
    return [*begin, *again, check_attacks(trials), dry_run]


def skip(reason: str) -> list[Findings]:
    return [Findings(title, [f"{NOT_RUN}{reason}"], is_run=False) for title in (ATTACKS, DRY_RUN)]


def as_text(findings: list[Findings]) -> str:
    """Return all findings as text, with the faults at the end."""
    sections = ["\n".join([f"{one.title}:", *(f"  {line}" for line in one.lines)]) for one in findings]
    return "\n\n".join([*sections, verdict(findings)])


def verdict(findings: list[Findings]) -> str:
    """Return the warnings, the faults and the number of faults as text."""
    faults = [text for one in findings for text in one.faults]
    lines = [f"warning: {text}" for one in findings for text in one.warnings] + [f"fault: {text}" for text in faults]
    return "\n\n".join([*describe_untried(findings), *lines, count_faults(findings)])


def count_faults(findings: Sequence[Findings]) -> str:
    """Return how many faults there are, or else what the best worthless completion earns."""
    if number := sum(len(one.faults) for one in findings):
        return f"{number} fault{'s' * (number != 1)} found."
    data: dict[str, Any] = {name: value for one in findings for name, value in one.data.items()}
    return " ".join(["No fault found.", *describe_best_attack(data.get("attacks", ()), data.get("dry_run"))])


def describe_best_attack(attacks: Sequence[dict[str, Any]], dry_run: Any) -> list[str]:
    """Return a sentence on what a right and the best worthless completion earn, if both were tried."""
    worthless = [attack for attack in attacks if KINDS.get(attack["name"]) in ("formless", "formed")]
    right = dry_run[-1]["right"] if dry_run else None
    if right is None or not worthless:
        return []
    best = max(worthless, key=lambda attack: attack["mean"])
    return [f"A right completion earns {right:.3g}, and the best worthless one ('{best['name']}') {best['mean']:.3g}."]


def describe_untried(findings: Sequence[Findings]) -> list[str]:
    """Return a sentence on what was not tried and on what to add, if no fault says it."""
    reasons = [one.lines[0].removeprefix(NOT_RUN) for one in findings if not (one.is_run or one.faults)]
    is_faulty = any(one.faults for one in findings)
    return [f"Right answers and attacks were not tried: {reason}" for reason in reasons[:1] if not is_faulty]
