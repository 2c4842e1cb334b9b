"""Functions as TRL takes them: what they return is checked, whatever their form, and too large a reward is no reward."""

import functools

import numpy
import pytest
import torch
from trl import GRPOConfig, GRPOTrainer

from helpers.agents import TURNS, Sums, script_turns
from helpers.models import save_layer
from helpers.runs import get_metric, roll_out
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo
from trl_grpo_rewards.records import read_records


RETURNED = []
"""What the functions below return."""


def plain(completions, **columns):
    return RETURNED[0]


async def asynchronous(completions, **columns):
    return RETURNED[0]


class Callable:
    def __call__(self, completions, **columns):
        return RETURNED[0]

    def method(self, completions, **columns):
        return RETURNED[0]


class Awaited:
    async def __call__(self, completions, **columns):
        return RETURNED[0]


FORMS = {
    "plain": plain,
    "asynchronous": asynchronous,
    "Callable": Callable(),
    "method": Callable().method,
    "Awaited": Awaited(),
    "<lambda>": lambda completions, **columns: RETURNED[0],
}
ALL_FORMS = [*FORMS.items(), *((name, functools.partial(function, size=2)) for name, function in FORMS.items())]

WRONG = [
    (["1.0"] * 8, r"gave '1.0' for row 0 of the batch. Return a finite number, or None if the completion cannot be judg"),
    ([0.5, None, (1.0, "because")] + [0.0] * 5, r"gave \(1.0, 'because'\) for row 2 of the batch. Return a finite numb"),
    (torch.zeros(8, 2), r"gave tensor\(\[0., 0.\]\) for row 0 of the batch"),
    (numpy.array(["1"] * 8), r"gave .*'1'.* for row 0 of the batch"),
    (1.0, "returned 1.0 for 8 completions. Return a list with one number or None per completion"),
    (torch.tensor(1.0), r"returned tensor\(1.\) for 8 completions. Return a list with one number or None per"),
    (None, "returned None for 8 completions. Return a list"),
    (dict.fromkeys(range(8), 1.0), "returned {.* for 8 completions. Return a list"),
    ([1.0] * 7, "returned 7 scores for 8 completions. Return a list with one number or None per completion"),
]  # fmt: skip


@pytest.mark.parametrize("name, function", ALL_FORMS)
def test_a_wrong_result_is_told_with_the_name_and_the_row(config, problems, name, function):
    trainer = FilteredGRPOTrainer(demo.MODEL, [boxed(), function], config(), problems)
    assert trainer.reward_funcs[1] is function
    for returned, said in WRONG if function is FORMS[name] and name in ("plain", "Awaited") else WRONG[:1]:
        RETURNED[:] = [returned]
        with pytest.raises(ValueError, match=rf"^Reward '{name}' {said}"):
            trainer.train()


RIGHT = [
    [0.5, 1, True, None, numpy.float32(0.25), torch.tensor(2), float("nan"), numpy.int64(3)],
    torch.arange(8) / 8,
    torch.arange(8),
    torch.arange(8) > 3,
    numpy.arange(8.0),
    (1.0, 0.0) * 4,
    [None] * 8,
]


class Given:
    """A reward function that returns what it is made with."""

    def __init__(self, returned, name):
        self.returned, self.__name__ = returned, name

    def __call__(self, completions, **columns):
        return self.returned


def train(trainer_class, args, problems, returned):
    functions = [Given(each, f"form{place}") for place, each in enumerate(returned)]
    trainer = trainer_class(demo.MODEL, functions, args=args, train_dataset=problems)
    trainer.train()
    return trainer


def test_what_trl_takes_is_taken(config, problems):
    runs = (GRPOTrainer, config(GRPOConfig)), (FilteredGRPOTrainer, config())
    logged = [train(*run, problems, RIGHT)._logs["rewards"] for run in runs]
    ours, theirs = (torch.tensor([[*scores] for scores in table.values()]).nan_to_num(-1.0) for table in logged)
    assert ours.shape == (7, 8) and torch.equal(ours, theirs)


@pytest.mark.parametrize("score, said", [("1.0", r"gave '1.0' for row \d"), ((1.0, ""), r"gave \(1.0, ''\) for row")])
def test_what_an_environment_pays_is_checked_likewise(config, problems, monkeypatch, score, said):
    class Shop(Sums):
        def get_reward(self):
            return score

    script_turns(monkeypatch)
    arguments = {"environment_factory": Shop, "processing_class": TURNS["processing_class"]}
    args = config(**{name: value for name, value in TURNS.items() if name not in arguments})
    trainer = FilteredGRPOTrainer(save_layer(), boxed(), args, problems, **arguments)
    with pytest.raises(ValueError, match=f"^Reward 'Shop' {said}"):
        trainer.train()


# --- rewards that are too large ---------------------------------------------------------------------------------------

INF, FEW, REST = float("inf"), [0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]
EACH = {"multi_objective_aggregation": "normalize_then_sum"}


@pytest.mark.parametrize("returned, weights, row, options", [
    ([[*FEW, INF, *REST]], [1.0], 3, {}),
    ([[*REST, *FEW, -INF]], [1.0], 7, EACH),
    ([[1e39, *FEW, *REST]], [1.0], 0, {}),
    ([[10**400, *FEW, *REST]], [1.0], 0, {}),
    ([[*FEW, 1e19, *REST]], [1.0], 3, {}),
    ([[*FEW, 1e12, *REST]], [1e12], 3, {}),
    ([[*FEW, 3e38, *REST], [0, 0, 0, 3e38, *REST]], [1.0, 1.0], 3, EACH),
    ([[*FEW, INF, *REST], [0, 0, 0, -INF, *REST]], [1.0, 1.0], 3, {}),
    ([[*FEW, 1.0, *REST], [0, 0, INF, 0, *REST]], [1.0, 0.0], None, {}),
    ([[*FEW, 1e15, *REST]], [1.0], None, {}),
], ids=["infinite", "minus", "float32", "integer", "variance", "weight", "sum", "difference", "witness", "large"])  # fmt: skip
def test_a_reward_that_is_too_large_counts_as_none_and_not_as_zero(
    config, problems, caplog, returned, weights, row, options
):
    options = {**options, "reward_weights": weights, "learning_rate": 1e-3}
    trainer = train(FilteredGRPOTrainer, config(**options), problems, returned)
    said = [one.message for one in caplog.records if one.name == "trl_grpo_rewards.training.groups"]
    judged = [[None if place == row else score for place, score in enumerate(each)] for each in returned]
    same = train(FilteredGRPOTrainer, config(**options), problems, judged)
    assert list(trainer._logs["advantages"]) == list(same._logs["advantages"])
    assert get_metric(trainer, "rows_unscored") == get_metric(same, "rows_unscored") == [float(row is not None)]
    log, expected = trainer.state.log_history[0], same.state.log_history[0]
    assert all(log[name] == expected[name] for name in ("grad_norm", "reward", "groups/dead", "groups/rows_computed"))
    assert 0 < log["grad_norm"] < INF
    assert len(said) == (row is not None)
    assert all(f"for row {row} of the batch" in text and "1 of 8 completions are unscored" in text for text in said)
    totals = [total for record in read_records(trainer.args.output_dir) for total in record["total"]]
    assert [place for place, total in enumerate(totals) if total is None] == ([] if row is None else [row])


# --- rollout functions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change, said", [
    (lambda out: {**out, "said": out["said"][:3]}, "for each of the 8 prompts, .*; got 3 values in 'said'. TRL has"),
    (lambda out: {**out, "said": out["said"] * 2}, "for each of the 8 prompts, .*; got 16 values in 'said'"),
    (lambda out: {**out, "completion_ids": out["completion_ids"] * 4}, "got 32 values in 'completion_ids'. TRL has already"),
    (lambda out: {**out, "prompt_ids": None}, "got 0 values in 'prompt_ids'"),
    (lambda out: {**out, "completion_ids": [[], *out["completion_ids"][1:]]}, r"got 0 tokens and \d+ values for row 0"),
    (lambda out: {**out, "env_mask": [[1], *out["env_mask"][1:]]}, "tokens and 1 values for row 0"),
    (lambda out: [*out], r"return a dict of lists, .*; got \['prompt_ids', "),
    (lambda out: {"prompt_ids": out["prompt_ids"]}, r"return keys \['completion_ids', 'logprobs'\]"),
], ids=["too few", "too many", "G times", "no list", "no token", "mask", "no dict", "no ids"])  # fmt: skip
def test_what_a_rollout_function_returns_is_checked(config, problems, change, said):
    trainer = FilteredGRPOTrainer(
        demo.MODEL, boxed(), config(), problems, rollout_func=lambda *given: change(roll_out(*given))
    )
    with pytest.raises(ValueError, match=f"^rollout_func must .*{said}"):
        trainer.train()


def reads_messages(completions, **columns):
    return [float(len(completion[0]["content"])) for completion in completions]


def test_an_error_of_a_function_names_it_and_says_what_a_completion_is(config, problems):
    texts = problems.map(lambda row: {"prompt": row["prompt"][0]["content"]})
    trainer = FilteredGRPOTrainer(demo.MODEL, reads_messages, config(), texts)
    with pytest.raises(TypeError, match="string indices must be integers") as raised:
        trainer.train()
    assert raised.value.__notes__ == [
        "(raised in the reward reads_messages)",
        "A completion is a text here. For messages, put @reward above and declare 'messages'.",
    ]
