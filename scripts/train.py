"""Train with GRPO. Without arguments this trains the bundled model on the bundled task.

    accelerate launch scripts/train.py
    accelerate launch scripts/train.py --config scripts/recipes/gsm8k.yaml
    accelerate launch scripts/train.py --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct --dataset_name openai/gsm8k \
        --dataset_config main --prompt_column question --solution_column answer \
        --rewards "boxed() + 0.2 * tags('think')" --output_dir runs/gsm8k

This script accepts all options of FilteredGRPOConfig (and thus of TRL's GRPOConfig) and of TRL's ModelConfig, including
those for PEFT and vLLM. Before the model loads, it runs the same checks as scripts/check.py.
"""

import sys
from pathlib import Path

from transformers.trainer_callback import ProgressCallback
from trl import get_peft_config, get_quantization_config

from trl_grpo_rewards import FilteredGRPOTrainer, demo
from trl_grpo_rewards.checks import check, verdict
from trl_grpo_rewards.cli.callbacks import BeforeAndAfter, RewardProgress
from trl_grpo_rewards.cli.commands import exit_on
from trl_grpo_rewards.cli.job import find_last_checkpoint, load_tokenizer, prepare_job, read_job
from trl_grpo_rewards.report import write_report


def check_output(output_dir: str, checkpoint: str | None) -> None:
    if checkpoint is None and Path(output_dir).is_dir() and any(Path(output_dir).iterdir()):
        raise ValueError(
            f"The output directory {output_dir!r} contains an earlier run, which a new run would overwrite. Choose "
            f"another --output_dir, continue from a checkpoint with --resume_from_checkpoint, or remove the directory."
        )
    if checkpoint is not None and not Path(checkpoint).is_dir():
        checkpoints = ", ".join(sorted(str(folder) for folder in Path(output_dir).glob("checkpoint-*"))) or "none"
        raise ValueError(
            f"There is no checkpoint {checkpoint!r} to resume from; {output_dir!r} has {checkpoints}. Choose one of "
            f"these, or leave out --resume_from_checkpoint."
        )


def try_report(run: Path) -> str:
    """Write the report. Return where it is, or why it could not be written, which is not an error of the run."""
    try:
        return f"The report is in {write_report(run, run / 'report.html')}."
    except (ImportError, OSError, ValueError) as error:
        return f"The report was not written. {error}"


def main() -> None:
    job, training, model = read_job()
    with exit_on(TypeError, ValueError):
        if str(training.resume_from_checkpoint).lower() == "true":
            training.resume_from_checkpoint = find_last_checkpoint(training.output_dir) or "true"
        if training.process_index == 0:
            check_output(training.output_dir, training.resume_from_checkpoint)
        rewards, train_dataset, eval_dataset = prepare_job(job, training, model)
        tokenizer = load_tokenizer(model, training)
    if not job.no_check and training.process_index == 0:
        found = check(rewards, train_dataset, training, tokenizer, job.bad_golds)
        print(verdict(found), flush=True)
        if any(one.faults for one in found):
            sys.exit("To see details, run scripts/check.py with the same arguments. To train anyway, pass --no_check.")
    training.model_init_kwargs = {
        "revision": model.model_revision,
        "attn_implementation": model.attn_implementation,
        "dtype": model.dtype,
        **(training.model_init_kwargs or {}),
    }
    trainer = FilteredGRPOTrainer(
        model.model_name_or_path or demo.MODEL,
        rewards,
        args=training,
        train_dataset=train_dataset,
        eval_dataset=eval_dataset,
        quantization_config=get_quantization_config(model),
        peft_config=get_peft_config(model),
    )
    if not training.disable_tqdm:
        trainer.remove_callback(ProgressCallback)
        trainer.add_callback(RewardProgress)
    evaluation = BeforeAndAfter(trainer)
    if eval_dataset is not None:
        trainer.add_callback(evaluation)
    trainer.train(resume_from_checkpoint=training.resume_from_checkpoint)
    trainer.save_model()
    if trainer.is_world_process_zero():
        print("", evaluation.report() if eval_dataset is not None else "", "", sep="\n")
        print(f"The model is in {training.output_dir}.")
        if training.group_records:
            print(try_report(Path(training.output_dir)))
    disconnect(trainer)


def disconnect(trainer: FilteredGRPOTrainer) -> None:
    """End the process group, which the wrapped model keeps alive. Its threads could abort Python while it exits."""
    trainer.model_wrapped = trainer.model
    trainer.accelerator.free_memory()
    trainer.accelerator.end_training()


if __name__ == "__main__":
    main()
