"""A witness: what it scores, that it trains nothing, and when it warns."""

import logging

import pytest
import torch

from helpers.ranks import run_on_forked_ranks
from helpers.runs import get_metric, small_config, train_and_read
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, clip, demo, reward
from trl_grpo_rewards.batch import completion_text
from trl_grpo_rewards.records.dead_groups import Rule
from trl_grpo_rewards.records.fields import Completion
from trl_grpo_rewards.records.files import read_records
from trl_grpo_rewards.report.summaries import Summary
from trl_grpo_rewards.training.generation import Generation
from trl_grpo_rewards.training.scored_groups import ScoredGroups
from trl_grpo_rewards.training.witness import Witness


@reward
async def grown(completion: str, log_extra, log_metric, *, fail: str = "") -> float | None:
    if fail and fail in completion:
        raise RuntimeError("no view")
    log_extra("seen", completion)
    log_metric("calls", 1)
    return None if "?" in completion else len(completion) / 10


@reward
def steps_taken(completion: str, trainer_state) -> float:
    return float(trainer_state.global_step)


@reward(grouped=True)
def place_in_group(prompt: str, completions: list[str]) -> list[float]:
    return [sorted(completions).index(one) for one in completions]


def generate(texts, totals, size=2, rank=0):
    """A generation of this rank's texts, with the totals of the rows of all ranks."""
    rows = [{"prompt": "p", "solution": "4"} for _ in texts]
    completions = [Completion(row, "p", text, [1], {"lengths": 1}, {}) for row, text in zip(rows, texts, strict=True)]
    scores = torch.tensor(totals).view(-1, size, 1)
    keys = torch.arange(scores.numel()).view(-1, size)
    return Generation(completions, ScoredGroups(scores, ["r"], torch.tensor([1.0]), Rule("r"), keys), rank)


def watch(witness, share=1.0, log=None):
    metrics = {} if log is None else log
    return Witness(FilteredGRPOConfig("unused", witness=witness, witness_share=share, bf16=False), metrics.update)


def test_scores_are_added_to_the_completions_and_logged():
    metrics, generation = {}, generate(["abcd", "?", "ab", "abcdef"], [1.0, 0.0, 0.5, 0.0])
    watch(grown(), log=metrics).observe(1, generation)
    assert [one.facts["witness"] for one in generation.completions] == [0.4, None, 0.2, 0.6]
    assert [one.logged for one in generation.completions][0] == {"witness/grown/seen": "abcd"}
    assert metrics == {"witness": pytest.approx(0.4), "witnessed": 0.5, "witness/grown/calls": 1}


def test_it_sees_the_step_before_the_one_that_is_taken_as_rewards_do():
    generation = generate(["a", "b"], [1.0, 0.0])
    watch(steps_taken()).observe(3, generation)
    assert [one.facts["witness"] for one in generation.completions] == [2.0, 2.0]


@pytest.mark.parametrize("share, expected", [(1.0, 24), (0.5, 12), (0.25, 6), (0.1, 2)])
@pytest.mark.parametrize("count", [1, 3, 4])
def test_a_share_of_the_groups_is_scored_whatever_their_number_in_a_batch(share, expected, count):
    witness = watch(grown(), share)
    chosen = [one for _ in range(24 // count) for one in witness.choose_groups(count)]
    assert sum(chosen) == expected
    gaps = [place for place, is_chosen in enumerate(chosen) if is_chosen]
    assert all(abs((after - before) - 1 / share) <= 1 for before, after in zip(gaps, gaps[1:], strict=False))


def test_without_a_witness_nothing_is_logged_or_added():
    metrics, generation = {}, generate(["a", "b"], [1.0, 0.0])
    watch(None, log=metrics).observe(1, generation)
    assert not metrics and not any("witness" in one.facts for one in generation.completions)


def test_an_alarm_names_the_step_once(caplog):
    metrics = {}
    witness = watch(grown(), log=metrics)
    with caplog.at_level(logging.WARNING):
        for step in range(1, 61):
            paid = 0.9 if step > 30 else 0.2
            witness.observe(step, generate(["abcd", "abc" + "d" * (step % 3)], [paid, paid - 0.1 * (step % 2)]))
            if step == 30:
                assert "parted" not in metrics
    (warning,) = (one.getMessage() for one in caplog.records if "part from the witness" in one.getMessage())
    assert metrics["parted"] in range(25, 36) and f"at about step {metrics['parted']}: until step 3" in warning


TEXTS, TOTALS = (["abc", "a", "ab"], ["b", "?", "abcd"]), [1.0, 0.0, 0.0, 1.0, 0.5, 0.5]


@pytest.mark.parametrize("witness", [grown(), place_in_group(), grown() + place_in_group()], ids=str)
@pytest.mark.parametrize("share", [1.0, 0.34])
def test_two_ranks_score_the_same_groups_and_know_all_scores(witness, share):
    """The second of three groups is on both ranks. With the smaller share, the first rank has no row of the only group."""

    metrics = {}
    watching = watch(witness, share, metrics)

    def score(rank):
        generation = generate(TEXTS[rank], TOTALS, rank=rank)
        watching.observe(1, generation)
        return [one.facts.get("witness") for one in generation.completions], metrics["witness"], metrics["witnessed"]

    (one, *means), (other, *same) = run_on_forked_ranks(score)
    alone = witness(completions=sum(TEXTS, []), prompts=["p1"] * 2 + ["p2"] * 2 + ["p3"] * 2)
    chosen = slice(0, 6) if share == 1 else slice(4, 6)
    assert means == same
    assert [score for score in one + other if score is not None] == [s for s in alone[chosen] if s is not None]


def test_an_error_on_one_rank_ends_all():
    watching = watch(grown(fail="abcd"))

    def score(rank):
        try:
            watching.observe(1, generate(TEXTS[rank], TOTALS, rank=rank))
        except RuntimeError as error:
            return str(error)

    one, other = run_on_forked_ranks(score)
    assert one.startswith("A reward failed on rank 1: RuntimeError: no view") and other == "no view"


@pytest.mark.parametrize(
    "options, message",
    [
        ({"witness": "boxxed()"}, "The witness cannot be built. There is no reward 'boxxed'"),
        ({"witness": "tags(5)"}, "The witness cannot be built. Option 'names' of 'tags' must be"),
        ({"witness": boxed}, "witness must be a reward, or its expression as text; got <reward boxed>"),
        ({"witness": "boxed(solution='gold')"}, "needs the column 'gold'"),
        ({"witness_share": 0.0}, "witness_share must be a number above 0 and at most 1; got 0.0"),
        ({"witness_share": "0.5"}, "witness_share must be a number above 0 and at most 1; got '0.5'"),
        ({"witness_share": 1.5}, "witness_share must be a number above 0 and at most 1; got 1.5"),
    ],
)
def test_what_cannot_witness_is_refused_before_the_model_loads(config, problems, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        FilteredGRPOTrainer("no such model", boxed(), args=config(**options), train_dataset=problems)


def test_it_trains_nothing_and_is_recorded(config, problems):
    options = {"max_steps": 2, "learning_rate": 1e-3, "max_completion_length": 48}
    alone, _ = train_and_read(config, problems, boxed(), **options)
    watched, records = train_and_read(config, problems, boxed(), witness=grown(), witness_share=0.5, **options)
    states = (one.model.state_dict() for one in (alone, watched))
    assert all(torch.equal(*pair) for pair in zip(*(state.values() for state in states), strict=True))
    assert [("witness" in one) for one in records] == [False, True] * 2
    for one in records[1::2]:
        assert one["witness"] == [len(completion_text(text)) / 10 for text in one["completions"]]
        assert [*one["rewards"]] == ["boxed"] and one["logged"]["witness/grown/seen"]
    assert len(get_metric(watched, "witness")) == 2 and "groups/witness" not in str(alone.state.log_history)
    assert watched.args.witness == watched.run["options"]["witness"] == "grown()"


@reward
def fooled(completion: str, trainer_state) -> float:
    """A verifier with a hole: from step 21 on, it pays any box with a 1 in it."""
    return float(trainer_state.global_step >= 20 and "1" in completion.rpartition("boxed{")[2])


@pytest.mark.slow
def test_a_planted_exploit_is_named_within_20_steps(tmp_path):
    """The model learns to write a 1. The reward says that it improves; the witness says that it does not."""
    args = small_config(
        tmp_path,
        max_steps=40,
        learning_rate=1e-3,
        max_grad_norm=1.0,
        per_device_train_batch_size=32,
        num_generations=8,
        max_completion_length=64,
        seed=1,
        lr_scheduler_type="constant",
        witness=boxed(),
    )
    rewards = clip(boxed() + fooled(), high=1, name="checked")
    trainer = FilteredGRPOTrainer(demo.MODEL, rewards, args=args, train_dataset=demo.arithmetic("train", size=512))
    trainer.train()
    parted = [entry for entry in trainer.state.log_history if "groups/parted" in entry]
    assert parted[0]["step"] <= 40 and abs(parted[0]["groups/parted"] - 21) <= 10
    summary = Summary(args.output_dir)
    for record in read_records(args.output_dir):
        summary.add(record)
    page = summary.describe()
    (warning,) = (one for one in page["anomalies"] if one["title"] == "The reward rises while the witness does not")
    assert f"at about step {parted[0]['groups/parted']:.0f}." in warning["details"] and "checked" in warning["details"]
    assert page["points"]["rewards"][-1][0] == "witness"
