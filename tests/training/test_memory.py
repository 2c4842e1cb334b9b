"""The memory of an update that docs/ppo_grpo_dpo.md states: what a step really holds, and the table of the script."""

import subprocess
import sys
from runpy import run_path

import pytest

from helpers.paths import ROOT, SCRIPTS
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, tags


SCRIPT = SCRIPTS / "estimate_memory.py"
PAGE = (ROOT / "docs" / "ppo_grpo_dpo.md").read_text("utf-8")


def count_bytes(tensors) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@pytest.mark.parametrize("has_adapters", [False, True])
def test_a_step_holds_the_weights_gradients_and_moments_that_are_counted(config, problems, has_adapters):
    peft = pytest.importorskip("peft") if has_adapters else None
    adapters = peft.LoraConfig(r=16, target_modules="all-linear") if has_adapters else None
    dtype = "bfloat16" if has_adapters else "float32"

    args = config(
        learning_rate=1e-3, max_completion_length=32, model_init_kwargs={"dtype": dtype}, optim="adamw_torch"
    )
    rewards = boxed() + 0.2 * tags("think") + varied
    trainer = FilteredGRPOTrainer(demo.MODEL, rewards, args=args, train_dataset=problems, peft_config=adapters)
    trainer.train()
    weights = [*trainer.model.parameters()]
    trained = [weight for weight in weights if weight.requires_grad]
    moments = [state[name] for state in trainer.optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
    held = count_bytes(weights) + count_bytes(trained) + count_bytes(moments)
    script = run_path(str(SCRIPT))
    plain = trainer.accelerator.unwrap_model(trainer.model)
    plain = plain.unload() if has_adapters else plain
    estimate = script["estimate"](plain, has_adapters=has_adapters)
    assert estimate.weights == held


def varied(completions, **kwargs):
    return [float(place % 2) for place in range(len(completions))]


def test_the_table_of_the_page_is_what_the_script_prints():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True)
    printed = done.stdout.strip()
    assert printed.count("\n") == 5 and printed in PAGE


def test_the_page_is_at_most_400_words():
    assert len(PAGE.split()) <= 400
