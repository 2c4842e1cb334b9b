"""Train with GRPO: without arguments the bundled model on the bundled task, with them the real thing.

    accelerate launch scripts/train.py
    accelerate launch scripts/train.py --config scripts/recipes/gsm8k.yaml
    accelerate launch scripts/train.py --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct --dataset_name openai/gsm8k \
        --dataset_config main --prompt_column question --solution_column answer \
        --rewards "boxed() + 0.2 * tags('think')" --output_dir runs/gsm8k

Every option of FilteredGRPOConfig (thus of TRL's GRPOConfig) and of TRL's ModelConfig is one here. Left out: anything
that those two already do, such as PEFT and vLLM.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch
from datasets import Dataset
from transformers.trainer_callback import ProgressCallback
from trl import ModelConfig, TrlParser, get_peft_config, get_quantization_config

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, Reward, demo, parse
from trl_grpo_rewards.arguments import check_dataset, unpacked
from trl_grpo_rewards.config import check_config
from trl_grpo_rewards.loading import import_rewards, last_checkpoint, load_problems
from trl_grpo_rewards.report import write_report
from trl_grpo_rewards.summary import BeforeAndAfter, RewardProgress


DEMO = Path(__file__).parent / "recipes" / "addition.yaml"


@dataclass
class TrainArguments:
    """What to train on, and for what."""

    rewards: str = field(
        default="boxed() + 0.2 * tags('think')",
        metadata={"help": "Expression of rewards; the names are those of the library and of imported modules."},
    )
    import_modules: list[str] = field(
        default_factory=list,
        metadata={"aliases": ["--import"], "help": "Modules to import, which register rewards of your own."},
    )
    dataset_name: str | None = field(
        default=None,
        metadata={"help": "Name on the hub, local folder, or 'json' with --data_files. Default: bundled addition."},
    )
    dataset_config: str | None = field(default=None, metadata={"help": "Configuration of the dataset."})
    data_files: list[str] | None = field(default=None, metadata={"help": "Files to read."})
    dataset_train_split: str = field(default="train", metadata={"help": "Split to train on."})
    dataset_test_split: str = field(default="test", metadata={"help": "Split to measure on."})
    prompt_column: str = field(default="prompt", metadata={"help": "Column with the question."})
    solution_column: str = field(default="solution", metadata={"help": "Column with the right answer."})
    system_prompt: str | None = field(default=None, metadata={"help": "Put before every prompt."})
    eval_prompts: int = field(
        default=64, metadata={"help": "Held-out prompts to measure on before and after; 0 measures nothing."}
    )


def arguments() -> tuple[TrainArguments, FilteredGRPOConfig, ModelConfig]:
    parser = TrlParser((TrainArguments, FilteredGRPOConfig, ModelConfig))
    if not torch.accelerator.is_available():
        parser.set_defaults(use_cpu=True, bf16=False)
    parsed = script, _, model = parser.parse_args_and_config()
    if "--config" not in sys.argv and script.dataset_name is model.model_name_or_path is None:
        return parser.parse_args_and_config(["--config", str(DEMO), *sys.argv[1:]])
    return parsed


def check_model(model: str | None, dataset: str | None) -> None:
    if model is None and dataset is not None:
        raise ValueError(
            f"The dataset is {dataset!r} and no model is named; the bundled one can do nothing but add. "
            f"Name yours with --model_name_or_path, or for a trial the bundled one: {demo.MODEL}."
        )


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


def prepared(
    script: TrainArguments, training: FilteredGRPOConfig, model: ModelConfig
) -> tuple[Reward, Dataset, Dataset | None]:
    """The rewards and problems; what is wrong with them is said in a sentence, before anything large is loaded."""
    try:
        check_model(model.model_name_or_path, script.dataset_name)
        check_config(training)
        if str(training.resume_from_checkpoint).lower() == "true":
            training.resume_from_checkpoint = last_checkpoint(training.output_dir) or "true"
        if training.process_index == 0:
            check_output(training.output_dir, training.resume_from_checkpoint)
        import_rewards(script.import_modules)
        rewards = parse(script.rewards)
        with training.main_process_first():  # the others find what it has prepared
            train_dataset, eval_dataset = load_problems(
                script.dataset_name,
                config=script.dataset_config,
                data_files=script.data_files,
                train_split=script.dataset_train_split,
                test_split=script.dataset_test_split,
                prompt_column=script.prompt_column,
                solution_column=script.solution_column,
                system_prompt=script.system_prompt,
                test_size=script.eval_prompts,
            )
        check_dataset(train_dataset, unpacked(rewards, training)[0])
        return rewards, train_dataset, eval_dataset
    except (TypeError, ValueError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


def reported(run: Path) -> str:
    """What has become of the report; a run that has come so far does not fail for it."""
    try:
        return f"The report is in {write_report(run, run / 'report.html')}."
    except (ImportError, OSError, ValueError) as error:
        return f"There is no report. {error}"


def main() -> None:
    script, training, model = arguments()
    rewards, train_dataset, eval_dataset = prepared(script, training, model)
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
