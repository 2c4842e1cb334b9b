"""What is checked of rewards and datasets before the model loads, and what is only warned about."""

import functools
import re
from contextlib import nullcontext

import pytest
import torch
from datasets import Dataset, IterableDataset
from transformers import AutoConfig, AutoModelForCausalLM

from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, exact, judge, tags
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.training.validation import (
    check_arguments,
    check_named_options,
    check_prompts,
    check_rewards,
    find_outcome,
    unpack_rewards,
    warn_of_unreadable_values,
)


ASKED = judge(model="none", rubric="Is it right?", base_url="http://localhost:9/v1")
DATA = Dataset.from_dict({"prompt": ["2 + 2?", "3 + 3?"], "solution": ["4", "6"]})


class Environment:
    """What TRL takes as an environment: it may supply the prompts."""


def plain(completions, **kwargs):
    return [0.0] * len(completions)


# --- values that cannot be read ---------------------------------------------------------------------------------------


def test_the_trainer_warns_once_of_solutions_that_cannot_be_read(config, caplog):
    rows = [f"Tom has {n} apples." if n % 10 == 0 else f"{n}" for n in range(300)]
    dataset = Dataset.from_dict({"prompt": ["How many?"] * 300, "solution": rows})
    FilteredGRPOTrainer(demo.MODEL, boxed() + 0.5 * boxed(partial=0.5, name="b"), config(), dataset)
    (said,) = (one.getMessage() for one in caplog.records if "cannot read" in one.getMessage())
    found = re.match(
        r"Reward 'boxed' cannot read (\d+) of 64 sampled values of the column 'solution' .* 'Tom has \d+", said
    )
    assert found and 1 <= int(found[1]) <= 20
    assert "checks.check(rewards, dataset)" in said


def test_nothing_is_said_of_what_can_be_read_or_is_not_read(caplog):
    unreadable = {"prompt": "a", "solution": "Tom has 48 apples."}
    for rewards, dataset in (
        ([boxed(), boxed(solution="gold")], DATA), ([plain], DATA), ([boxed()], None),
        ([tags("a"), plain], Dataset.from_list([unreadable])), ([boxed()], IterableDataset.from_generator(lambda: iter([unreadable]))),
    ):  # fmt: skip
        warn_of_unreadable_values(rewards, dataset)
    assert not caplog.records


@pytest.mark.parametrize("options, is_warned", [({"fp16": True}, True), ({"bf16": True}, False), ({}, False)])
def test_fp16_on_a_cpu_is_said_to_change_nothing(config, problems, caplog, options, is_warned):
    trainer = FilteredGRPOTrainer(demo.MODEL, boxed(), config(**options), problems)
    said = [one.message for one in caplog.records if one.message.startswith("fp16=True changes nothing on a CPU")]
    assert len(said) == is_warned
    with trainer.accelerator.autocast():  # the sentence is true: fp16 computes as no option does
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == (torch.bfloat16 if "bf16" in options else torch.float32)


# --- rewards ----------------------------------------------------------------------------------------------------------


def test_rewards_are_built_and_have_names_of_their_own(config):
    for sound in (boxed(), [boxed(), plain, "org/model", "org/model"], plain, None, []):
        check_rewards(unpack_rewards(sound, config())[0])
    for factory in (boxed, [plain, boxed]):
        with pytest.raises(TypeError, match=r"^reward_funcs contains the reward factory 'boxed' .* Call it with its"):
            check_rewards(unpack_rewards(factory, config())[0])
    some, define = functools.partial(plain), "Rename one of them: .* A function without options is named by its def"
    anonymous = [lambda completions, **columns: 1.0, lambda completions, **columns: 2.0]
    for rewards, said in (
        ([boxed(), plain, boxed(partial=0.5)], r"'boxed'; the names are boxed, plain, boxed. Rename .* name='other'"),
        (anonymous, f"'<lambda>'; the names are <lambda>, <lambda>. {define}"),
        ([some, some], f"'plain'; the names are plain, plain. {define}"),
        ([some, boxed(name="plain")], r"'plain'; the names are plain, plain. Rename one of them"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"Two rewards are named {said}"):
            check_rewards(rewards)


@pytest.mark.parametrize(
    "rewards, unscored, is_warned",
    [
        ([boxed(), ASKED], "term", True), ([boxed() + ASKED, plain], "term", True), ([boxed(), ASKED], "row", False),
        ([ASKED], "term", False), (ASKED, "term", False), ([boxed(), plain], "term", False),
        (boxed() + 0 * ASKED, "term", False), (ASKED + 0 * boxed(), "term", False), (ASKED + 0 * boxed() + tags("a"), "term", True),
    ],
)  # fmt: skip
def test_a_judge_next_to_other_rewards_is_warned_about(config, problems, caplog, rewards, unscored, is_warned):
    args = config(unscored=unscored)
    funcs, weights = unpack_rewards(rewards, args)
    check_arguments(args, funcs, weights, train_dataset=problems)
    said = [record.message for record in caplog.records]
    assert len(said) == is_warned and all(
        text.endswith("Set unscored='row' to leave such completions out instead.") for text in said
    )


# --- the outcome ------------------------------------------------------------------------------------------------------


def test_the_outcome_is_the_reward_that_is_named_or_registered_or_first():
    rewards, names = [plain, tags("a"), exact(), boxed()], ["plain", "tags", "exact", "boxed"]
    for name, place in ((None, 2), ("boxed", 3), ("plain", 0)):
        assert find_outcome(name, names, rewards) == place
    for weights, outcome in (([1, 1, 0, 1], 3), ([0, 1, 0, 0], 2), ([0, 1], 1), ([0, 0], 0)):  # of weight 0 come last
        assert find_outcome(None, names, rewards[: len(weights)], weights=weights) == outcome
    for weights, outcome in (([1, 1, 1, 1], 2), ([1, 1, 0, 1], 3)):  # the last one is of an environment
        assert find_outcome(None, [*names[:3], "Game"], [*rewards[:3], plain], 3, weights) == outcome
    with pytest.raises(ValueError, match="outcome_reward='boxxed' must be the name of a reward; the rewards are 'pla"):
        find_outcome("boxxed", names, rewards)


def test_the_name_of_the_outcome_is_checked_once_all_names_are_known(config):
    for rewards in ([boxed(), plain], [boxed(name="plain")]):
        check_named_options(config(outcome_reward="plain"), rewards, None)
        with pytest.raises(ValueError, match="outcome_reward='style' must be the name of a reward"):
            check_named_options(config(outcome_reward="style"), rewards, None)
    for name, rewards, world in (("Environment", [boxed()], Environment), ("model", [boxed(), "org/model"], None)):
        check_named_options(config(outcome_reward=name), rewards, None, world)  # TRL names these when it loads them


# --- datasets ---------------------------------------------------------------------------------------------------------


RESAMPLED = {"max_resample_rounds": 2, "zero_variance": "drop"}


@pytest.mark.parametrize(
    "options, dataset, world, said",
    [
        (RESAMPLED, None, None, "max_resample_rounds=2 requires .* train_dataset is missing.* or set max_resample_rounds=0"),
        (RESAMPLED, DATA.to_iterable_dataset(), None, "but train_dataset is a stream"),
        (RESAMPLED, None, Environment, None), (RESAMPLED, DATA, Environment, None), ({}, None, None, None),
        (RESAMPLED, DATA, None, None), ({}, DATA.to_iterable_dataset(), None, None),
    ],
)  # fmt: skip
def test_prompts_are_drawn_from_a_dataset_that_can_be_indexed(config, options, dataset, world, said):
    with nullcontext() if said is None else pytest.raises(ValueError, match=said):
        check_prompts(config(**options), dataset, world)


def test_a_dataset_that_would_train_no_step_is_refused_before_the_model_loads(config, problems):
    args = config(gradient_accumulation_steps=3)
    with pytest.raises(ValueError, match="at least the 6 prompts of one generation batch .* it has 5, so no step"):
        FilteredGRPOTrainer("no/model", boxed(), args=args, train_dataset=problems.select(range(5)))
    trainer = FilteredGRPOTrainer(demo.MODEL, boxed(), args=args, train_dataset=problems.select(range(6)))
    trainer.train()
    assert trainer.state.global_step == 1


def test_a_reference_model_needs_a_name(config, problems):
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(demo.MODEL))
    model.config._name_or_path = ""
    with pytest.raises(ValueError, match=r"beta=0.1 needs a reference model.* Save it and pass the folder: model.sav"):
        FilteredGRPOTrainer(model, boxed(), config(beta=0.1), problems)


def test_evaluation_batches_have_whole_groups(config, problems):
    trainer = FilteredGRPOTrainer(demo.MODEL, boxed(), config(per_device_eval_batch_size=6), problems, problems)
    with pytest.raises(
        ValueError, match="=4 must divide the 6 completions of an evaluation batch. Set per_device_eval_b"
    ):
        trainer.evaluate()


@pytest.mark.parametrize("images", [{"images": [None, []]}, {"image": [None, None]}], ids=lambda one: [*one][0])
def test_rows_without_an_image_are_text(config, problems, images):
    ((name, values),) = images.items()
    runs = []
    for data in (problems, problems.add_column(name, values * 32)):
        trainer = FilteredGRPOTrainer(demo.MODEL, boxed(partial=0.5), config(), data)
        runs.append((trainer.train().training_loss, *trainer._logs["completion"]))
    assert runs[0] == runs[1]


class Adapter:
    def __call__(self, completions, **columns):
        return [1.0] * len(completions)


def test_a_plain_function_without_the_names_of_trl_is_found_before_the_model_loads(config, problems):
    def forgot(completion, solution):
        return 1.0

    def as_trl_calls_it(prompts, completions, **columns):
        return [1.0] * len(completions)

    @functools.wraps(forgot)
    def adapted(completions, **columns):
        return [1.0] * len(completions)

    class Scorer:
        def __call__(self, response, ground_truth):
            return 1.0

    def compute_score(data_source, solution_str, ground_truth, extra_info=None):
        return 1.0

    check_rewards([adapted, max, as_trl_calls_it])
    check_rewards(unpack_rewards(compute_score, config())[0])  # as verl calls it
    renamed = "rename 'response' to 'completion', and write reward.* reads 'ground_truth' of the dataset"
    with pytest.raises(TypeError, match=f"reward_funcs contains the object 'Scorer' instead of a reward.*{renamed}"):
        FilteredGRPOTrainer("no/model", [boxed(), Scorer()], config(), problems)
    with pytest.raises(TypeError, match=r"reward_funcs contains the class 'Adapter' .* Make an object of it: Adapter"):
        FilteredGRPOTrainer("no/model", [boxed(), Adapter], config(), problems)
    with pytest.raises(TypeError, match="reward_funcs contains the plain function 'forgot' .* Put @reward above it"):
        FilteredGRPOTrainer("no/model", [boxed(), forgot], config(), problems)


def misspelt(completions, solutoin, **kwargs):
    return [0.0] * len(completions)


def of_one_prompt(completions, prompt, **kwargs):
    return [0.0] * len(completions)


def of_all(completions, completion_ids, solution, trainer_state, log_metric, level=None, **kwargs):
    return [0.0] * len(completions)


def test_a_column_that_a_plain_function_misspells_is_found_before_the_model_loads(config):
    said = "Reward 'misspelt' needs the column 'solutoin'; found 'prompt', 'solution'. Did you mean 'solution'? Rename the parameter."
    for held_out in (None, {"first": DATA}):
        with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
            FilteredGRPOTrainer("no/model", [boxed(), misspelt], config(), DATA, held_out)
    (first, *_) = check(misspelt, DATA)
    assert first.faults == [said]
    with pytest.raises(
        ValueError, match="needs the column 'prompt'; .*Did you mean 'prompts'[?] Rename the parameter[.]$"
    ):
        FilteredGRPOTrainer("no/model", of_one_prompt, config(), DATA)
    adapted = functools.wraps(misspelt)(lambda completions, **columns: misspelt(completions, "4"))
    for function in (of_all, functools.partial(misspelt, solutoin="4"), adapted, plain):
        check_arguments(config(), [function], train_dataset=DATA)


class Scorer(FilteredGRPOTrainer):
    """Passes another argument to its functions than TRL."""

    def _calculate_rewards(self, inputs, prompts, completions, completion_ids_list):
        scores = misspelt(completions, solutoin=[row["solution"] for row in inputs])
        return torch.tensor(scores).unsqueeze(1)


def test_a_trainer_that_calls_its_functions_itself_may_pass_more(config):
    Scorer(demo.MODEL, misspelt, config(max_steps=1), demo.arithmetic(size=16)).train()
