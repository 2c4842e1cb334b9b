"""Train the bundled model to use a calculator: `python examples/calculator.py`.

At first, the model adds two numbers in its head half of the time, and is mostly wrong. The reward is the right answer
alone, so the model learns to call the calculator. Every call is in `runs/calculator/report.html`.
"""

import random
import sys

from warm_up import call, warm_up

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, tool_errors
from trl_grpo_rewards.report import write_report


TEXTS = ['<tool_call>{"name": "add", "arguments": {"a": ', ', "b": ', "What is ", "\\boxed{"]


def add(a: int, b: int) -> int:
    """
    Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


def demonstrate(rng: random.Random) -> list[dict]:
    """Return a conversation. Half of them call the calculator, the others guess."""
    a, _, b = demo.draw_problem(rng)
    asked = {"role": "user", "content": f"What is {a} + {b}?"}
    if rng.random() < 0.5:
        return [asked, {"role": "assistant", "content": f"\\boxed{{{a + b + rng.randint(-9, 9)}}}"}]
    result = {"role": "tool", "name": "add", "content": str(add(a, b))}
    return [asked, call("add", a=a, b=b), result, {"role": "assistant", "content": f"\\boxed{{{a + b}}}"}]


def main(output_dir: str = "runs/calculator", max_steps: int = 30, warm_up_steps: int = 400) -> dict[str, tuple]:
    rng = random.Random(0)
    model, tokenizer = warm_up([demonstrate(rng) for _ in range(3000)], TEXTS, steps=warm_up_steps)
    args = FilteredGRPOConfig(
        output_dir,
        max_steps=max_steps,
        num_generations=8,
        per_device_train_batch_size=128,
        per_device_eval_batch_size=128,
        max_completion_length=64,
        max_tool_calling_iterations=2,
        learning_rate=3e-4,
        lr_scheduler_type="constant",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        logging_steps=5,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = FilteredGRPOTrainer(
        model,
        boxed(evaluated=True, name="accuracy") + 0.1 * tool_errors(),
        args=args,
        train_dataset=demo.arithmetic("train", size=512),
        eval_dataset=demo.arithmetic("test", size=16),
        processing_class=tokenizer,
        tools=[add],
    )
    names = {"accuracy": "eval_rewards/accuracy/mean", "calls": "eval_tools/call_frequency"}
    before = trainer.evaluate()
    trainer.train()
    after = trainer.evaluate()
    results = {name: (before[key], after[key]) for name, key in names.items()}
    for name, (first, last) in results.items():
        print(f"{name}: {first:.2f} before, {last:.2f} after")
    print(f"Look at the calls: {write_report(output_dir, f'{output_dir}/report.html')}")
    return results


if __name__ == "__main__":
    main(*sys.argv[1:2])
