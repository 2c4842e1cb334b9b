"""A run that is rewarded for following instructions follows more of them, also on rows that it was not trained on."""

import pytest

from trl_grpo_rewards import FilteredGRPOTrainer, demo, instructions


CONSTRAINTS = [
    {"id": "keywords:existence", "keywords": ["boxed"]},
    {"id": "keywords:letter_frequency", "letter": "o", "let_relation": "at least", "let_frequency": 2},
    {"id": "length_constraints:number_words", "relation": "at least", "num_words": 2},
    {"id": "format:no_whitespace"},
]


def with_constraints(problems):
    return problems.add_column("instruction_id_list", [CONSTRAINTS] * len(problems))


@pytest.mark.slow
def test_the_share_of_constraints_met_rises_on_rows_held_out(config):
    options = {"max_steps": 40, "learning_rate": 1e-3, "per_device_train_batch_size": 32, "num_generations": 8}
    arguments = config(**options, max_completion_length=40, max_grad_norm=1.0, per_device_eval_batch_size=64)
    rows = {split: with_constraints(demo.arithmetic(split, size=64)) for split in ("train", "test")}
    trainer = FilteredGRPOTrainer(
        demo.MODEL,
        instructions(partial=True),
        args=arguments,
        train_dataset=rows["train"],
        eval_dataset=rows["test"],
    )
    before = trainer.evaluate()["eval_rewards/instructions/mean"]
    trainer.train()
    after = trainer.evaluate()["eval_rewards/instructions/mean"]
    assert after > before + 0.3
