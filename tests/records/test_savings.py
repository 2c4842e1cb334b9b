"""What a run says that it saved, from logs of runs and from logs of any shape."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.reward_functions import half_dead
from trl_grpo_rewards import FilteredGRPOTrainer, demo
from trl_grpo_rewards.records.runs import describe_savings, list_facts, read_log, sum_tokens


def entry(step, **tokens):
    return {"step": step, **{f"groups/tokens_{name}": value for name, value in tokens.items()}}


def test_shares_are_of_the_tokens_of_trl_in_all_passes():
    passes = {"needed_without_gradient": 20, "computed_without_gradient": 25, "padded_without_gradient": 100}
    log = [entry(1, needed=20, computed=25, padded=100, skipped=50, **passes, skipped_without_gradient=50)]
    assert sum_tokens(log) == pytest.approx([0.2, 0.25, 0.5])
    for is_once, needed in ((True, "needed, each prompt once"), (False, "needed")):
        assert describe_savings(log, is_once) == (
            f"The passes over the model computed 25% of the tokens of TRL's batches; 20% were {needed}. Skipping dead groups "
            "saved 50%, and packing 25%."
        )
    assert "once" in list_facts({"version": 2}, log)["Tokens"] and "once" not in list_facts({}, log)["Tokens"]


def test_an_entry_stands_for_all_steps_since_the_previous_one():
    log = [entry(1, needed=50, computed=100, padded=100, skipped=0), {"step": 2, "loss": 1.0}]
    log.append(entry(10, needed=50, computed=50, padded=100, skipped=0))
    assert sum_tokens(log)[1] == pytest.approx((1 + 9 * 0.5) / 10)


numbers = st.none() | st.text(max_size=2) | st.floats(allow_nan=True) | st.integers(-5, 10**6)


@given(
    st.lists(st.builds(entry, st.integers(0, 100), needed=numbers, computed=numbers, padded=numbers, skipped=numbers))
)
def test_a_log_of_any_shape_is_read(log):
    found = describe_savings(log, True)
    assert not found or found.startswith("The passes")
    assert sum_tokens([{"step": 1}]) == [] and describe_savings([], True) == ""


def test_a_run_says_in_its_card_what_its_log_says(config, problems):
    args = config(max_steps=4, gradient_accumulation_steps=2, num_iterations=2)
    trainer = FilteredGRPOTrainer(demo.MODEL, half_dead, args=args, train_dataset=problems)
    trainer.train()
    trainer.create_model_card()
    log = read_log(args.output_dir)
    needed, computed, skipped = found = sum_tokens(log)
    assert found == sum_tokens(trainer.state.log_history)
    assert 0 < needed <= computed < 1 and skipped > 0 and computed + skipped < 1
    with open(f"{args.output_dir}/README.md") as card:
        assert re.search(rf"\| Tokens \| `{re.escape(describe_savings(log, True))}` \|", card.read())
