"""Mathematics with a judge of right answers: `python examples/judged_maths.py http://localhost:8000/v1 Qwen/Qwen3-8B`.

The rule decides which answers are right. The judge grades how clear the right ones are, and never sees a wrong one. The
server may be any that speaks OpenAI's chat protocol, such as `vllm serve Qwen/Qwen3-8B`.
"""

import sys

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, gate, judge


RUBRIC = {"clear": "Can a pupil of twelve follow each step?", "brief": "Is there nothing that could be left out?"}


def main(base_url: str, model: str, output_dir: str = "runs/judged_maths", max_steps: int = 60) -> FilteredGRPOTrainer:
    right = boxed(evaluated=True, name="accuracy")
    clear = judge(model=model, base_url=base_url, rubric=RUBRIC, cache=f"{output_dir}/verdicts", name="clear")
    args = FilteredGRPOConfig(
        output_dir,
        max_steps=max_steps,
        num_generations=8,
        per_device_train_batch_size=64,
        max_completion_length=64,
        learning_rate=5e-4,
        unscored="row",  # if the judge gives no verdict, the completion is left out
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        logging_steps=5,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = FilteredGRPOTrainer(
        demo.MODEL, right + 0.3 * gate(clear, by=right), args=args, train_dataset=demo.arithmetic("train", size=512)
    )
    trainer.train()
    return trainer


if __name__ == "__main__":
    main(*sys.argv[1:4])
