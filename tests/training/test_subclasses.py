"""A subclass that changes the objective trains what the same subclass of TRL's trainer trains."""

import importlib
import inspect
import os
import pkgutil
import re
from contextlib import suppress
from functools import partial
from itertools import product

import pytest
import torch
import trl.experimental
from trl import GRPOTrainer

from helpers.changes import CHANGES, compare_changes, double_advantages, subclass
from helpers.gradients import train_for_gradients
from helpers.marks import slow_except
from helpers.paths import ROOT
from helpers.reward_functions import all_dead, half_dead
from helpers.runs import get_metric
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo
from trl_grpo_rewards.records.files import read_records


os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"


def in_front(method, change):
    """The change is in the first of two subclasses."""
    return type("Below", (subclass(FilteredGRPOTrainer, method, change),), {})


def behind(method, change):
    """The change is in a class that comes after our trainer."""
    return type("Behind", (FilteredGRPOTrainer, subclass(GRPOTrainer, method, change)), {})


def patched(method, change):
    """The change is set on the trainer after it was built."""

    class Patched(FilteredGRPOTrainer):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            setattr(self, method, partial(change, self, getattr(self, method)))

    return Patched


PLACES = {"in front": in_front, "behind": behind, "patched": patched}
CASES = [*product(CHANGES, PLACES)]


@pytest.mark.compared
@pytest.mark.parametrize("case", slow_except(CASES[:1], CASES), ids=", ".join)
def test_a_change_has_the_gradient_that_it_has_in_trl(config, problems, case):
    change, place = CHANGES[case[0]], PLACES[case[1]]
    found, trainer, _ = compare_changes(config, problems, subclass(GRPOTrainer, *change), place(*change))
    assert found <= 1e-6
    assert trainer.zero_variance == ("skip" if change[0].startswith(("_ge", "_calc")) else "keep")
    left = {name: value for name, value in vars(trainer).items() if hasattr(GRPOTrainer, name) and callable(value)}
    assert {*left} == ({change[0]} if place is patched else set())


OF_ADVANTAGES = [
    {"num_iterations": 2, "max_steps": 4},
    {"loss_type": "grpo", "zero_variance": "drop"},
    {"zero_variance": "drop", "max_resample_rounds": 2},
    {"packing": False},
    {"beta": 0.1, "zero_variance": "drop"},
]


@pytest.mark.compared
@pytest.mark.parametrize("options", slow_except(OF_ADVANTAGES[:1], OF_ADVANTAGES), ids=str)
@pytest.mark.parametrize("tokens", slow_except([""], ["", " of tokens"]))
def test_advantages_revive_dead_groups(config, problems, options, tokens):
    change = CHANGES[f"advantages{tokens}"]
    theirs, ours = (subclass(cls, *change) for cls in (GRPOTrainer, FilteredGRPOTrainer))
    found, trainer, reference = compare_changes(config, problems, theirs, ours, **options)
    assert found <= 1e-6
    assert max(get_metric(trainer, "dead")) > 0 and {*get_metric(trainer, "rows_computed")} == {16.0}
    records = [*read_records(trainer.args.output_dir)]
    assert {record["outcome"] for record in records if not record["spread"]} <= {"flat", "failed", "solved"}
    if not tokens:
        logged = [one + 0.5 for one in reference._logs["advantages"]]
        assert [one for record in records[-4:] for one in record["advantages"]] == pytest.approx(logged)
        assert [*trainer._logs["advantages"]] == pytest.approx(logged)


def test_rounding_errors_in_advantages_of_dead_groups_revive_nothing(config, problems):
    for place, size in product(PLACES.values(), (4, 3)):
        cls = place("_generate_and_score_completions", double_advantages)
        options = {"per_device_train_batch_size": 6 if size == 3 else 4, "num_generations": size}
        _, trainer = train_for_gradients(cls, config, problems, [all_dead], **options)
        assert get_metric(trainer, "rows_computed") == [1.0] * 2


def test_own_rewards_decide_what_is_dead_and_are_asked_for_once(config, problems):
    calls = []

    def score(self, plain, *args):
        calls.append(args)
        assert self.reward_funcs == [all_dead]
        return torch.tensor([[float(place % 2 and place < 8)] for place in range(len(plain(*args)))])

    cls = subclass(FilteredGRPOTrainer, "_calculate_rewards", score)
    _, trainer = train_for_gradients(cls, config, problems, [all_dead], num_iterations=2)
    assert get_metric(trainer, "dead") == [0.5] and get_metric(trainer, "rows_computed") == [8.0] and len(calls) == 1
    rewards = [record["rewards"]["all_dead"] for record in read_records(trainer.args.output_dir)]
    assert rewards == [[0.0, 1.0, 0.0, 1.0]] * 2 + [[0.0] * 4] * 2


def forget_rows(self, plain, inputs):
    return {name: value[:4] if getattr(value, "ndim", 1) else value for name, value in plain(inputs).items()}


@pytest.mark.parametrize("change", [forget_rows, lambda *args: {}], ids=["fewer rows", "none of TRL's"])
def test_another_number_of_rows_is_one_sentence(config, problems, change):
    cls = subclass(FilteredGRPOTrainer, "_generate_and_score_completions", change)
    with pytest.raises(ValueError, match=r"^Changed\._generate_and_score_completions must call the method that it ov"):
        train_for_gradients(cls, config, problems, [half_dead])


OWN_LOSSES = [name for name in CHANGES if CHANGES[name][0] in ("_compute_loss", "compute_loss", "_prepare_inputs")]


@pytest.mark.parametrize("name", OWN_LOSSES)
def test_an_own_loss_is_named_and_leaves_no_group_out(config, problems, caplog, name):
    method, change = CHANGES[name]
    own = subclass(FilteredGRPOTrainer, method, change)
    trainer = own(demo.MODEL, boxed(), args=config(), train_dataset=problems)
    line = f"Changed.{method} changes the loss, so TRL's micro-batches and dead groups are kept (packing=False)."
    assert trainer.zero_variance == "keep" and [record.message for record in caplog.records].count(line) == 1
    for mode in ("skip", "drop"):
        with pytest.raises(ValueError, match=rf"The loss of Changed.{method} keeps TRL's micro-batches, .*'{mode}'"):
            own("no/model", boxed(), args=config(zero_variance=mode), train_dataset=problems)
        later = patched(method, change)(demo.MODEL, boxed(), args=config(zero_variance=mode), train_dataset=problems)
        with pytest.raises(ValueError, match=rf"The loss of Patched.{method} keeps .* Set zero_variance='keep'\.$"):
            later.train()


def test_an_error_leaves_no_method_replaced(config, problems):
    def fails(completions, **kwargs):
        raise RuntimeError("out of order")

    trainer = FilteredGRPOTrainer(demo.MODEL, fails, args=config(), train_dataset=problems)
    with pytest.raises(RuntimeError, match="out of order"):
        trainer.train()
    assert not {"_generate", "_generate_and_score_completions", "_calculate_rewards"} & {*vars(trainer)}


# --- other trainers of TRL


def find_variants() -> list[type]:
    """Return the subclasses of TRL's trainer that TRL has and that need no teacher, as MiniLLMTrainer of TRL 1.14 does."""
    for module in pkgutil.iter_modules(trl.experimental.__path__, "trl.experimental."):
        with suppress(ImportError):  # of what only that trainer needs
            importlib.import_module(module.name)
    found = [cls for cls in GRPOTrainer.__subclasses__() if cls.__module__.startswith("trl.")]
    return [cls for cls in found if "teacher_model" not in inspect.signature(cls).parameters]


@pytest.mark.compared
@pytest.mark.parametrize("variant", find_variants(), ids=lambda cls: cls.__name__)
def test_variants_of_grpo_train_in_a_mixture_what_they_train_alone(config, problems, caplog, variant):
    for bases in ((FilteredGRPOTrainer, variant), (variant, FilteredGRPOTrainer)):
        mixed = type("Mixed", bases, {})
        found, trainer, _ = compare_changes(config, problems, variant, mixed, num_iterations=2, beta=0.1)
        assert found <= 1e-6 and f"{variant.__name__}._compute_loss changes the loss" in caplog.text
        assert len([*read_records(trainer.args.output_dir)]) == 4


# --- the documentation


SECTION = re.search(
    r"^## Change the objective\n(.*?)^## ", (ROOT / "docs/trainer.md").read_text(), re.DOTALL | re.MULTILINE
)[1]
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)


@pytest.mark.compared
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda code: re.search(r"^class (\w+)", code, re.MULTILINE)[1])
def test_the_examples_of_the_documentation_train_what_they_train_with_trl(config, problems, example):
    def define(code: str) -> type:
        names: dict = {}
        exec(code, names)
        return names[re.search(r"^class (\w+)", code, re.MULTILINE)[1]]

    theirs = define(example.replace("from trl_grpo_rewards", "from trl").replace("Filtered", ""))
    found, trainer, _ = compare_changes(config, problems, theirs, define(example))
    assert found <= 1e-6 and max(get_metric(trainer, "dead")) > 0
