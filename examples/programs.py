"""Train the bundled model to write programs, on Linux: `python examples/programs.py`.

Each program of a completion runs in a jail on this machine, and is judged by the tests of its row. The reward is 1 if it
passes all of them. The failing cases are in `runs/programs/report.html`.
"""

import sys

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, code, demo
from trl_grpo_rewards.report import write_report


def main(output_dir: str = "runs/programs", max_steps: int = 40) -> tuple[float, float]:
    args = FilteredGRPOConfig(
        output_dir,
        max_steps=max_steps,
        num_generations=8,
        per_device_train_batch_size=128,
        per_device_eval_batch_size=128,
        max_completion_length=56,
        learning_rate=6e-4,
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
        demo.CODER,
        code(name="passes"),
        args=args,
        train_dataset=demo.programs("train"),
        eval_dataset=demo.programs("test"),
    )
    before = trainer.evaluate()["eval_rewards/passes/mean"]
    trainer.train()
    after = trainer.evaluate()["eval_rewards/passes/mean"]
    print(f"share of programs that pass: {before:.2f} before, {after:.2f} after")
    print(f"Look at the failing cases: {write_report(output_dir, f'{output_dir}/report.html')}")
    return before, after


if __name__ == "__main__":
    main(*sys.argv[1:2])
