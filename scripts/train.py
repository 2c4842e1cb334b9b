"""Train with GRPO: without arguments the bundled model on the bundled task, with them the real thing.

    accelerate launch scripts/train.py
    accelerate launch scripts/train.py --config scripts/recipes/gsm8k.yaml
    accelerate launch scripts/train.py --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct --dataset_name openai/gsm8k \
        --dataset_config main --prompt_column question --solution_column answer \
        --rewards "boxed() + 0.2 * tags('think')" --output_dir runs/gsm8k

Every option of FilteredGRPOConfig (thus of TRL's GRPOConfig) and of TRL's ModelConfig is one here. Left out: anything
that those two already do, such as PEFT and vLLM. Before the model loads, the job is checked as by scripts/check.py.
"""

import sys
from pathlib import Path

from transformers.trainer_callback import ProgressCallback
from trl import get_peft_config, get_quantization_config

from trl_grpo_rewards import FilteredGRPOTrainer, demo
from trl_grpo_rewards.checks import check, verdict
from trl_grpo_rewards.cli.callbacks import BeforeAndAfter, RewardProgress
from trl_grpo_rewards.cli.datasets import last_checkpoint
from trl_grpo_rewards.cli.job import in_a_sentence, load_tokenizer, prepared, read_job
from trl_grpo_rewards.report import write_report


DEMO = Path(__file__).parent / "recipes" / "addition.yaml"


def check_output(output_dir: str, checkpoint: str | None) -> None:
    if checkpoint is None and Path(output_dir).is_dir() and any(Path(output_dir).iterdir()):
        raise ValueError(
            f"The output directory {output_dir!r} holds an earlier run, which a fresh one would overwrite. Choose "
            f"another --output_dir, go on from a checkpoint with --resume_from_checkpoint, or remove the directory."
        )
    if checkpoint is not None and not Path(checkpoint).is_dir():
        there = ", ".join(sorted(str(folder) for folder in Path(output_dir).glob("checkpoint-*"))) or "none"
        raise ValueError(
            f"There is no checkpoint {checkpoint!r} to go on from; in {output_dir!r} there is {there}. Name one of "
            f"these, or leave out --resume_from_checkpoint."
        )


def reported(run: Path) -> str:
    """What has become of the report; a run that has come so far does not fail for it."""
    try:
        return f"The report is in {write_report(run, run / 'report.html')}."
    except (ImportError, OSError, ValueError) as error:
        return f"There is no report. {error}"


def main() -> None:
    job, training, model = read_job(DEMO)
    with in_a_sentence():
        if str(training.resume_from_checkpoint).lower() == "true":
            training.resume_from_checkpoint = last_checkpoint(training.output_dir) or "true"
        if training.process_index == 0:
            check_output(training.output_dir, training.resume_from_checkpoint)
        rewards, train_dataset, eval_dataset = prepared(job, training, model)
        tokenizer = load_tokenizer(model, training)
    if not job.no_check and training.process_index == 0:
        found = check(rewards, train_dataset, training, tokenizer, job.bad_golds)
        print(verdict(found), flush=True)
        if any(one.faults for one in found):
            sys.exit("scripts/check.py with the same arguments shows more; --no_check trains all the same.")
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
    measured = BeforeAndAfter(trainer)
    if eval_dataset is not None:
        trainer.add_callback(measured)
    trainer.train(resume_from_checkpoint=training.resume_from_checkpoint)
    trainer.save_model()
    if trainer.is_world_process_zero():
        print("", measured.report() if eval_dataset is not None else "", "", sep="\n")
        print(f"The model is in {training.output_dir}.")
        if training.group_records:
            print(reported(Path(training.output_dir)))
    disconnect(trainer)


def disconnect(trainer: FilteredGRPOTrainer) -> None:
    """End the threads of the process group, which a wrapped model holds: one at work while Python closes aborts it."""
    trainer.model_wrapped = trainer.model
    trainer.accelerator.free_memory()
    trainer.accelerator.end_training()


if __name__ == "__main__":
    main()
