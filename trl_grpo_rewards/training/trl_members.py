"""The members of TRL that this package uses and TRL does not document. A release of TRL may move or change them."""

import ast
import inspect
import logging
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import version
from itertools import takewhile
from typing import Any, NamedTuple


logger = logging.getLogger(__name__)

NEWEST_TESTED = (1, 16)
"""The newest minor version of TRL that this package was tested with. The README lists all of them."""

REMEDY = (
    "Install a version of TRL that trl_grpo_rewards was tested with (its README lists them), or a newer version of "
    "trl_grpo_rewards."
)

UTILITIES = tuple(
    "get_callable_name is_async_callable pad split_pixel_values_by_grid unsplit_pixel_values_by_grid".split()
)
"""Functions of `trl.trainer.utils`."""

METHODS = tuple(
    "_generate_and_score_completions _get_per_token_logps_and_entropies _get_train_sampler "
    "_load_optimizer_and_scheduler _prepare_inputs _save_rng_state _set_signature_columns_if_needed "
    "create_model_card get_batch_samples".split()
)
"""Methods of `GRPOTrainer` that this package overrides."""

CALLED = {
    "_calculate_rewards": "inputs, prompts, completions, completion_ids_list",
    "_compute_loss": "model, inputs",
    "_generate": "prompts",
}
"""Methods of `GRPOTrainer` that this package calls or replaces for a while, and their parameters."""

PARTS = {
    "_generate_and_score_completions": "advantages",
    "_calculate_rewards": "rewards",
    "_get_per_token_logps_and_entropies": "passes",
    "_get_train_sampler": "order",
}
PARTS |= dict.fromkeys(("_compute_loss", "_prepare_inputs", "compute_loss"), "loss")
"""Methods of `GRPOTrainer` that a subclass may change, and the part of the training that each decides."""

RETURNED = {
    "_generate": "prompt_ids, completion_ids, tool_mask, completions, _, extra_fields, images, ...",
    "_get_per_token_logps_and_entropies": "logps, entropies, aux_loss",
}
"""Tuples that methods of `GRPOTrainer` return and this package unpacks: TRL's names of the items, `_` for any item."""

ATTRIBUTES = tuple(
    "_buffered_inputs _logs _metrics _pending_extra_logs _signature_columns _step _tokenizer "
    "aux_loss_enabled control eos_token_ids log_multimodal num_generations num_generations_eval "
    "reward_func_names reward_funcs reward_weights".split()
)
"""Attributes of a `GRPOTrainer` that this package reads or sets."""


def say_missing(what: str) -> ImportError:
    return ImportError(
        f"trl_grpo_rewards {version('trl_grpo_rewards')} requires {what}, which trl {NEWEST_TESTED[0]}."
        f"{NEWEST_TESTED[1]} has and trl {version('trl')} lacks. {REMEDY}"
    )


try:
    utils = import_module("trl.trainer.utils")
except ImportError as error:
    raise say_missing("the module trl.trainer.utils") from error


def check_attributes(trainer: Any) -> None:
    """Check that a trainer has all [`ATTRIBUTES`] after TRL has built it."""
    if read_version() < (1, 14, 2):  # which takes only the tokenizer's token for the end of a completion
        trainer.eos_token_ids = [trainer._tokenizer.eos_token_id]
    check_members(trainer, ATTRIBUTES)


def read_version() -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version("trl"))[:3]))


def check_members(owner: object, names: tuple[str, ...]) -> None:
    """Raise an error if a module, class or object of TRL lacks a member that this package uses."""
    missing = [name for name in names if not hasattr(owner, name)]
    if missing:
        raise say_missing(f"{', '.join(map(repr, missing))} of {getattr(owner, '__name__', type(owner).__name__)}")


class Names(NamedTuple):
    """Names of parameters, or of the items of a returned tuple."""

    names: list[str]  # in their order; `_` stands for any name
    is_open: bool  # whether more may follow

    def __str__(self) -> str:
        return f"({', '.join([*self.names, *(['...'] if self.is_open else [])])})"

    def fits(self, other: "Names") -> bool:
        """Return whether the names agree, and each side is open if the other one has more names."""
        pairs = list(zip(self.names, other.names, strict=False))
        return (
            all("_" in pair or pair[0] == pair[1] for pair in pairs)
            and (self.is_open or len(other.names) <= len(pairs))
            and (other.is_open or len(self.names) <= len(pairs))
        )


def check_trl(own: type, owner: type, is_main_process: bool) -> None:
    """Check TRL before `own`, which overrides methods of `owner`, is built, and warn if it is newer than was tested."""
    check_members(utils, UTILITIES)
    check_members(owner, (*METHODS, *CALLED))
    check_shapes(own, owner)
    if is_main_process:
        warn_of_newer_trl()


def check_shapes(own: type, owner: type) -> None:
    """Check parameters and returned tuples of methods of TRL. What cannot be read, as after compilation, counts as right."""
    parameters = {name: Names(text.split(", "), False) for name, text in CALLED.items()}
    parameters |= {name: list_parameters(vars(own)[name]) for name in METHODS}
    for name, wanted in parameters.items():
        found = list_parameters(getattr(owner, name))
        if not wanted.fits(found):
            raise wrong_shape(f"{owner.__name__}.{name} takes", wanted, found)
    for name, text in RETURNED.items():
        names = text.removesuffix(", ...").split(", ")
        wanted, returned = Names(names, text.endswith("...")), list_returned(getattr(owner, name))
        if returned and not any(map(wanted.fits, returned)):
            raise wrong_shape(f"{owner.__name__}.{name} returns", wanted, returned[-1])


def list_parameters(method: Callable[..., Any]) -> Names:
    """Return the parameters of a method after the object itself, up to `*args` or `**kwargs`."""
    parameters = list(inspect.signature(method).parameters.values())
    named = list(takewhile(lambda one: one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD), parameters))
    return Names([one.name for one in named[1:]], len(named) < len(parameters))


@cache
def list_returned(method: Callable[..., Any]) -> list[Names]:
    """Return the tuples that the source of a method returns, or nothing if it has no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, SyntaxError, TypeError):
        return []
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return [Names(list(map(ast.unparse, one.elts)), False) for one in values if isinstance(one, ast.Tuple)]


def wrong_shape(what: str, wanted: Names, found: Names) -> ImportError:
    return ImportError(
        f"trl_grpo_rewards {version('trl_grpo_rewards')} requires that {what} {wanted}. In trl {version('trl')}, it is "
        f"{found}. {REMEDY}"
    )


def find_changes(trainer: object, own: type, owner: type) -> dict[str, str]:
    """Return the parts of the training that neither class decides, and the method of another class or object that does."""
    classes, changes = type(trainer).__mro__, dict[str, str]()
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
    if read_version()[:2] > NEWEST_TESTED:
        logger.warning(
            f"trl {version('trl')} is installed, but trl_grpo_rewards {version('trl_grpo_rewards')} was tested with trl "
            f"{major}.{minor} and older. Compare a short run with GRPOTrainer, or pip install 'trl<{major}.{minor + 1}'."
        )
