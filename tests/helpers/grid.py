"""Training runs of TRL's trainer and of ours in one setting, with their gradients and with what they compute."""

from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import torch
from datasets import Dataset
from peft import LoraConfig, PromptEncoderConfig, PromptTuningConfig
from trl import GRPOTrainer

from helpers.architectures import build_model
from helpers.gradients import difference
from helpers.passes import train_and_count
from helpers.precision import in_own_precision
from helpers.ranks import run_on_two_ranks
from helpers.runs import small_config
from helpers.settings import OPTIONS, RANKS, TOKENIZER, Setting
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer


VIRTUAL = {"task_type": "CAUSAL_LM", "num_virtual_tokens": 4}
ADAPTERS = {
    "LoRA": (LoraConfig, {"r": 4, "target_modules": ["q_proj", "v_proj"], "init_lora_weights": False}),
    "prompt tuning": (PromptTuningConfig, VIRTUAL),
    "p-tuning": (PromptEncoderConfig, {**VIRTUAL, "encoder_hidden_size": 16}),
}
IDS = {"vocab_size": len(TOKENIZER), "eos_token_id": TOKENIZER.eos_token_id, "pad_token_id": TOKENIZER.pad_token_id}


class Comparison(NamedTuple):
    """What our trainer computed in a setting, next to TRL's."""

    mode: str  # what our trainer did with dead groups
    difference: float  # largest relative difference between the gradients of a step
    norm: float  # largest norm of TRL's gradient of a step
    steps: int  # optimizer steps of all ranks
    rows: int  # that our trainer computed with gradient
    rows_of_trl: int
    live_rows: int  # how many of the rows of TRL are live
    tokens: int  # that our trainer computed, with and without gradient, padding included
    tokens_of_trl: int


class Counted(GRPOTrainer):
    """TRL's trainer, which counts the rows of live groups in its losses."""

    live_rows = 0

    def _generate_and_score_completions(self, inputs):
        worth = [row["worth"] for row in inputs]
        return {**super()._generate_and_score_completions(inputs), "live": [one is None for one in worth]}

    def compute_loss(self, model, inputs, *args, **kwargs):
        self.live_rows += sum(inputs["live"])
        return super().compute_loss(model, inputs, *args, **kwargs)


def score(completion_ids, worth, **kwargs):
    """What a dead group is worth; else scores that differ within every group and that float32 represents."""
    rows = enumerate(zip(completion_ids, worth, strict=True))
    return [row % 4 / 8 + sum(ids) % 2 / 2 if one is None else one for row, (ids, one) in rows]


def count(completion_ids, worth, **kwargs):
    return [len(ids) % 4 / 4 if one is None else 0.0 for ids, one in zip(completion_ids, worth, strict=True)]


def make_dataset(prompts: int, dead: float) -> Dataset:
    """Return prompts of different lengths with the worth of their completions, which is None if the group is live."""
    texts = ["one", "two plus", "seven", "what is 3", "9 + 1 =", "a", "a longer prompt with many more tokens 1 2 3"]
    worth = [(0.0, 1.0)[place % 2] if place * 7 % 20 < 20 * dead else None for place in range(prompts)]
    prompt = [f"{texts[place % len(texts)]} {place}" for place in range(prompts)]
    return Dataset.from_dict({"prompt": prompt, "worth": worth})


def save_model(kind: str, folder: Path) -> str:
    """Save a model with random weights. TRL loads its reference model from there."""
    if not folder.exists():
        build_model(kind, bos_token_id=TOKENIZER.eos_token_id, **IDS).save_pretrained(folder)
    return str(folder)


def train(trainer_class: type, setting: Setting, folder: Path, **options):
    folder.mkdir(exist_ok=True)
    if setting.adapter:
        config_class, of_adapter = ADAPTERS[setting.adapter]
        options["peft_config"] = config_class(**of_adapter)
    with in_own_precision() if setting.is_exact else nullcontext():
        return train_and_count(
            trainer_class,
            lambda cls=FilteredGRPOConfig, **options: small_config(folder, cls, **options),
            make_dataset(setting.prompts, setting.dead),
            setting.vllm,
            [score, count][: setting.rewards],
            model=save_model(setting.model, folder / setting.model),
            processing_class=TOKENIZER,
            eval_dataset=make_dataset(2, 0.0),
            **{**OPTIONS, **setting.options, **options},
        )


def compare(setting: Setting, folder: Path) -> list[Comparison]:
    """Return a comparison for each mode of the setting."""
    expected, theirs, all_passes = train(Counted, setting, folder)
    norm = max(torch.cat([one.flatten() for one in step.values()]).norm().item() for step in expected)
    found = []
    for mode in setting.modes:
        got, ours, passes = train(FilteredGRPOTrainer, setting, folder, zero_variance=mode, group_records=False)
        rows = (sum(passes.calls), sum(all_passes.calls), theirs.live_rows)
        own = (ours.zero_variance, difference(got, expected), norm, len(expected))
        found.append(Comparison(*own, *rows, passes.tokens, all_passes.tokens))
    return found


def compare_settings(folder: Path) -> dict[str, list[Comparison]]:
    """Return the comparisons of this rank, by the name of the setting."""
    return {setting.name: compare(setting, folder) for setting in RANKS}


def compare_on_two_ranks(folder: Path) -> dict[str, list[Comparison]]:
    """Return the comparisons of both ranks together, by the name of the setting."""
    (folder / "runs").mkdir()
    for kind in {setting.model for setting in RANKS}:
        save_model(kind, folder / "runs" / kind)  # here, because only the first of several ranks would
    one, other = run_on_two_ranks(compare_settings, folder)
    return {name: [*map(join, one[name], other[name])] for name in one}


def join(one: Comparison, other: Comparison) -> Comparison:
    """Return the comparison of two ranks: the larger difference and norm, and the sums of the counts."""
    mode, *highest = one[:3]
    counts = [sum(pair) for pair in zip(one[3:], other[3:], strict=True)]
    return Comparison(mode, *map(max, highest, other[1:3]), *counts)
