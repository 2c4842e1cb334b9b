"""Train on tasks of reasoning-gym, scored by their own rules: `pip install reasoning-gym`, `python examples/reasoning_gym_tasks.py`.

Read the method `score_answer` of a generator before you train on its tasks. In reasoning-gym 0.1.25, two rules of 105 pay a
worthless answer in full: that of `game_of_life_halting` pays any text, and that of `puzzle24` pays `6*4*1*1` for all tasks.
49 rules pay a text that contains the answer for the answer's share of it, and some pay a little for "I do not know.".
Therefore, only a full score counts here.

Never run a rule that evaluates the answer as Python outside a sandbox, because a model can write any program as its answer.
Nine rules do: those of `binary_matrix`, `countdown`, `intermediate_integration`, `n_queens`, `polynomial_multiplication`,
`puzzle24`, `simple_integration`, `spiral_matrix` and `string_insertion`. The rules of `chain_sum` and `products` only compare
decimal numbers and texts. Do not name a copy of this file `reasoning_gym.py`, which would hide the package.

The bundled model has only seen sums, so it earns little. For a real run, pass the name of another model.
"""

import json
import re
import sys

from datasets import Dataset
from reasoning_gym import create_dataset, get_score_answer_fn

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo, reward


GENERATORS = ("chain_sum", "products")
OPTIONS = {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}
RULES = {name: get_score_answer_fn(name) for name in GENERATORS}


def make_dataset(size: int = 200, seed: int = 0) -> Dataset:
    entries = [one for name in GENERATORS for one in create_dataset(name, size=size, seed=seed, **OPTIONS)]
    prompts = [[{"role": "user", "content": one["question"] + " Put the answer in \\boxed{}."}] for one in entries]
    return Dataset.from_dict({"prompt": prompts, "entry": [json.dumps(one) for one in entries]})


@reward(outcome=True)
def own_rule(completion: str, entry: str) -> float:
    """1 if the rule of the task's generator pays the content of the last box in full; else 0."""
    task, boxes = json.loads(entry), re.findall(r"\\boxed\{([^{}]*)\}", completion)
    return float(bool(boxes) and RULES[task["metadata"]["source_dataset"]](boxes[-1], task) >= 1.0)


def main(model: str = demo.MODEL, output_dir: str = "runs/reasoning_gym", max_steps: int = 20) -> FilteredGRPOTrainer:
    small = {"max_completion_length": 32, "use_cpu": True, "bf16": False, "gradient_checkpointing": False}
    args = FilteredGRPOConfig(
        output_dir,
        max_steps=max_steps,
        num_generations=8,
        per_device_train_batch_size=32,
        save_strategy="no",
        **small if model == demo.MODEL else {},
    )
    trainer = FilteredGRPOTrainer(model, own_rule(), args=args, train_dataset=make_dataset())
    trainer.train()
    return trainer


if __name__ == "__main__":
    main(*sys.argv[1:2])
