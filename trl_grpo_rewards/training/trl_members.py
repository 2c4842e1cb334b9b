"""The members of TRL that this package uses and TRL does not document. A release of TRL may move or change them."""

import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import takewhile, zip_longest
from typing import Any

from ..files import INSTALL_TRL, NEWEST_TESTED, find_version, read_trl_version


logger = logging.getLogger(__name__)
REMEDY = f"Install a version of TRL that trl_grpo_rewards was tested with: {INSTALL_TRL}. Or install a newer trl_grpo_rewards."

UTILITIES = tuple(  # functions of `trl.trainer.utils`
    "get_callable_name is_async_callable pad split_pixel_values_by_grid unsplit_pixel_values_by_grid".split()
)

METHODS = tuple(  # methods of `GRPOTrainer` that this package overrides
    "_generate_and_score_completions _get_per_token_logps_and_entropies _get_train_sampler "
    "_load_optimizer_and_scheduler _prepare_inputs _save_rng_state _set_signature_columns_if_needed "
    "create_optimizer get_batch_samples".split()
)

CALLED = {  # methods of `GRPOTrainer` that this package calls, or replaces for a while, with some parameters
    "_calculate_rewards": "inputs, prompts, completions, completion_ids_list",
    "_compute_loss": "model, inputs",
    "_generate": "prompts",
    "_get_per_token_logps_and_entropies": "model, input_ids, attention_mask, logits_to_keep, ...",
}

PARTS = {  # methods of `GRPOTrainer` that a subclass may change, and the part of the training that each decides
    "_generate_and_score_completions": "advantages",
    "_calculate_rewards": "rewards",
    "_get_per_token_logps_and_entropies": "passes",
}
PARTS |= dict.fromkeys(("_compute_loss", "_prepare_inputs", "compute_loss"), "loss")
ANY = "..."

ATTRIBUTES = tuple(  # attributes of a `GRPOTrainer` that this package reads or sets
    "_buffered_inputs _logs _metrics _pending_extra_logs _signature_columns _step _tokenizer "
    "aux_loss_enabled control eos_token_ids log_multimodal num_generations num_generations_eval "
    "ref_model reward_func_names reward_funcs reward_weights".split()
)


def say_missing(what: str) -> ImportError:
    return ImportError(
        f"trl_grpo_rewards {find_version('trl_grpo_rewards')} requires {what}, which trl {NEWEST_TESTED[0]}."
        f"{NEWEST_TESTED[1]} has and trl {find_version('trl')} lacks. {REMEDY}"
    )


try:
    utils = import_module("trl.trainer.utils")
except ImportError as error:
    raise say_missing("the module trl.trainer.utils") from error


def check_attributes(trainer: Any) -> None:
    """Check that a trainer has all [`ATTRIBUTES`] after TRL has built it."""
    if read_trl_version() < (1, 14, 2):  # which takes only the tokenizer's token for the end of a completion
        trainer.eos_token_ids = [trainer._tokenizer.eos_token_id]
    check_members(trainer, ATTRIBUTES)


def has_fused_head() -> bool:
    """Return whether TRL scores hidden states itself. Before 1.15, it kept the logits of all columns in memory."""
    return hasattr(utils, "add_fused_lm_head")


def check_members(owner: object, names: tuple[str, ...]) -> None:
    """Raise an error if a module, class or object of TRL lacks a member that this package uses."""
    missing = [name for name in names if not hasattr(owner, name)]
    if missing:
        raise say_missing(f"{', '.join(map(repr, missing))} of {getattr(owner, '__name__', type(owner).__name__)}")


def check_trl(own: type, owner: type) -> None:
    """Check that TRL has all members, and that its methods take what `own`, which overrides them in `owner`, passes."""
    check_members(utils, UTILITIES)
    check_members(owner, (*METHODS, *CALLED))
    wanted = {name: list_parameters(vars(own)[name]) for name in METHODS}
    wanted |= {name: text.split(", ") for name, text in CALLED.items()}
    for name, mine in wanted.items():
        found = list_parameters(getattr(owner, name))
        unlike = (pair for pair in zip_longest(mine, found) if pair[0] != pair[1] or ANY in pair)
        if ANY not in next(unlike, (ANY,)):
            raise ImportError(
                f"trl_grpo_rewards {find_version('trl_grpo_rewards')} requires that {owner.__name__}.{name} takes "
                f"({', '.join(mine)}). In trl {find_version('trl')}, it is ({', '.join(found)}). {REMEDY}"
            )


def list_parameters(method: Callable[..., Any]) -> list[str]:
    """Return the parameters of a method after the object itself, up to `*args` or `**kwargs`, which are [`ANY`]."""
    parameters = list(inspect.signature(method).parameters.values())
    named = list(takewhile(lambda one: one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD), parameters))
    return [one.name for one in named[1:]] + [ANY] * (len(named) < len(parameters))


def find_changes(trainer: object, own: type, owner: type) -> dict[str, str]:
    """Return the parts of the training that neither class decides, and the method of another class or object that does."""
    classes = type(trainer).__mro__
    changes = dict[str, str]()
    for place in (trainer, *classes[: classes.index(owner) + 1]):
        for name, method in vars(place).items():
            if name in PARTS and getattr(method, "__module__", None) not in (own.__module__, owner.__module__):
                changes.setdefault(PARTS[name], f"{getattr(place, '__name__', type(trainer).__name__)}.{name}")
    return changes


@contextmanager
def replace_members(owner: object, **members: Any) -> Iterator[None]:
    """Replace members of an object for a while, whatever its class, a subclass or a caller has made of them."""
    own = vars(owner)
    before = {name: own[name] for name in members if name in own}
    own.update(members)
    try:
        yield
    finally:
        for name in members:
            own.pop(name, None)
        own.update(before)


@cache
def warn_of_newer_trl() -> None:
    """Warn once that the installed TRL is newer than [`NEWEST_TESTED`]."""
    major, minor = NEWEST_TESTED
    if read_trl_version()[:2] > NEWEST_TESTED:
        logger.warning(
            f"trl {find_version('trl')} is installed, but trl_grpo_rewards {find_version('trl_grpo_rewards')} was tested with trl "
            f"{major}.{minor} and older. Compare a short run with GRPOTrainer, or pip install 'trl<{major}.{minor + 1}'."
        )
