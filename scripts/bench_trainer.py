r"""Compare the cost of a step under TRL's `GRPOTrainer` and under ours, on completions with long-tailed lengths.

    python scripts/bench_trainer.py                # updates
    python scripts/bench_trainer.py --generation   # whole steps
    torchrun --nproc_per_node 2 scripts/bench_trainer.py
    python scripts/bench_trainer.py --prompt 1000 --cases plain          # long prompts
    python scripts/bench_trainer.py --model FOLDER --cases lora --bf16   # a model of your own

Runs of both trainers alternate (A B A B ...) in one process, with the same prompts and initial weights, so that other
load on the machine affects both. Completions are random tokens of lognormal lengths. A scripted reward makes a fixed
share of the groups dead, chosen at random in every step. With `--generation`, the model also generates as many tokens.

The table has a row for each case. Seconds are ours relative to TRL's, as medians over pairs of runs. On one rank of a CPU,
they are seconds of the CPU, which other load hardly changes. Token counts are what each trainer computes for each token
that it needs: the prompts, once for each group, and completions of live groups, or of all groups if dead ones are kept,
without their last tokens, which predict nothing. An
update is a step without its generation. `bench_gpu.py` does the same on one GPU.
"""

import argparse
import atexit
import functools
import gc
import json
import logging
import math
import os
import random
import statistics
import tempfile
import time
import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from accelerate.utils import gather_object
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, Qwen2Config, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo


WORLD, RANK = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))

GROUP = 8

WARMUP = 2
"""Number of generations before those that are measured. In these, our trainer also tries whether rows can share tokens."""

SPREAD = 0.7
"""Standard deviation of the lengths, as a share of their mean. Half of the variance of logarithms is between prompts."""

CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "kl": {"options": {"beta": 0.1}},
    "iterations": {"options": {"num_iterations": 2}},
    "lora": {"lora": True},
}
"""What differs from TRL's defaults: a KL term, two updates on each generation, or adapters."""

COLUMNS = {
    "update": "update",
    "step": "step",
    "padding with gradient": "computed / needed with gradient: TRL, ours",
    "padding without gradient": "without gradient",
    "passes": "passes",
}

SHAPES = {
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2},
    "wide": {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 2, "num_attention_heads": 8},
    "small": {"hidden_size": 192, "intermediate_size": 512, "num_hidden_layers": 6, "num_attention_heads": 6},
    "0.5B": {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14},
    "1.5B": {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12},
}
"""Models with random weights, in the shapes of Qwen2. Those from 0.5B on have its vocabulary too, and `wide` has 4,000 tokens."""

VOCABULARIES = {"wide": 4_000, "0.5B": 151_936, "1.5B": 151_936}


class Lengths(NamedTuple):
    """Lognormal numbers of tokens, or equal ones. A completion that reaches the cap is cut."""

    mean: int
    cap: int
    prompt: int
    spread: float = SPREAD

    def draw(self, rng: random.Random, groups: int) -> list["Row"]:
        sigma = math.sqrt(math.log(1 + self.spread**2))
        half = sigma / math.sqrt(2)
        rows = []
        for _ in range(groups):
            prompt = max(4, round(rng.lognormvariate(math.log(self.prompt) - sigma**2 / 2, sigma)))
            center = math.log(self.mean) - sigma**2 / 2 + rng.gauss(0, half)
            rows += [Row(prompt, min(self.cap, max(4, round(rng.lognormvariate(center, half))))) for _ in range(GROUP)]
        return rows


class Row(NamedTuple):
    """The tokens of a completion and of its prompt."""

    prompt: int
    completion: int


@dataclass(frozen=True)
class Job:
    """What both trainers are given."""

    model: str  # its folder
    lengths: Lengths  # of scripted completions
    _: KW_ONLY
    dead: float = 0.0
    rows: int = 64
    accumulate: int = 32
    steps: int = 2  # generations that are measured
    seed: int = 0
    generates: bool = False  # whether the model also generates as many tokens, which are thrown away
    bf16: bool = False
    lora: bool = False
    attention: str = "sdpa"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def iterations(self) -> int:
        count: int = self.options.get("num_iterations", 1)
        return count

    @property
    def passes_without_gradient(self) -> int:
        """How often TRL computes log-probabilities of a generation: those of the reference, and the old ones."""
        return int(self.options.get("beta", 0) > 0) + int(self.iterations > 1)


class Pair(NamedTuple):
    """What two runs of the same job cost."""

    base: dict[str, float]
    ours: dict[str, float]


class Meter(TrainerCallback):
    """
    Measures the seconds of each step, and counts the tokens that the model computes and that the update needs.

    It also makes groups dead, and replaces completions by scripted ones. Both depend on the seed and the number of earlier
    calls only, so both trainers train on the same rows.
    """

    def __init__(self, job: Job, trainer: GRPOTrainer) -> None:
        self.job, self.trainer, self.calls, self.dead = job, trainer, 0, set[int]()
        self.keeps_dead = getattr(trainer, "zero_variance", "keep") == "keep"
        self.steps: list[dict[str, float]] = []
        self.now: dict[str, float] = {}
        self.sample = trainer._generate_single_turn
        trainer._generate_single_turn = self.generate
        for model in filter(None, (trainer.model, trainer.ref_model)):
            model.register_forward_pre_hook(self.count, with_kwargs=True)
        trainer.add_callback(self)

    def add(self, name: str, value: float) -> None:
        self.now[name] = self.now.get(name, 0.0) + value

    def generate(self, prompt_ids: list[list[int]], *args: Any, **kwargs: Any) -> tuple[list[list[int]], Any]:
        rng = random.Random(f"{self.job.seed} {self.calls}")
        self.calls += 1
        groups = len(prompt_ids) * WORLD // GROUP
        self.dead = {*rng.sample(range(groups), round(self.job.dead * groups))}
        completions = self.write_completions(rng, groups)
        start = read_clock()
        if self.job.generates:
            config = self.trainer.generation_config
            config.max_new_tokens = config.min_new_tokens = max(map(len, completions))
            self.sample(prompt_ids, *args, **kwargs)
        self.add("generation", read_clock() - start)
        for row, (prompt, completion) in enumerate(zip(prompt_ids, completions, strict=True)):
            if self.keeps_dead or not self.is_dead(row, len(prompt_ids)):
                self.add("needed", len(prompt) * (row % GROUP == 0) + len(completion) - 1)
        return completions, None

    def write_completions(self, rng: random.Random, groups: int) -> list[list[int]]:
        """Return random token ids for the rows of this rank. A completion that is not cut ends as TRL expects it."""
        tokenizer = self.trainer.processing_class
        rows = self.job.lengths.draw(rng, groups)
        count = len(rows) // WORLD
        written = []
        for row in rows[RANK * count : (RANK + 1) * count]:
            ids = [rng.randrange(5, len(tokenizer)) for _ in range(row.completion)]
            written.append(ids if row.completion == self.job.lengths.cap else [*ids[1:], tokenizer.eos_token_id])
        return written

    def is_dead(self, row: int, count: int) -> bool:
        return (RANK * count + row) // GROUP in self.dead

    def score(self, prompts: list, **kwargs: Any) -> list[float]:
        """The reward: scores alternate in live groups."""
        return [float(self.is_dead(row, len(prompts)) or row % 2) for row in range(len(prompts))]

    def count(self, model: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        if "fused_lm_head" in kwargs:  # not in generation
            kind = "with" if torch.is_grad_enabled() else "without"
            self.add(f"tokens {kind} gradient", kwargs["input_ids"].numel())
            self.add(f"passes {kind} gradient", 1)

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.now, self.start = {}, read_clock()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        step = read_clock() - self.start
        self.steps.append({"step": step, "update": step - self.now.get("generation", 0.0), **self.now})

    def sum_up(self) -> dict[str, float]:
        """Return the costs of a generation and its steps: seconds of this rank, and counts of all ranks."""
        measured = self.steps[WARMUP * self.job.iterations :]
        names = dict.fromkeys(name for step in measured for name in step)
        costs = {name: sum(step.get(name, 0.0) for step in measured) / self.job.steps for name in names}
        if WORLD > 1:
            ranks = gather_object([costs])
            counted = [name for name in names if name == "needed" or name.startswith("tokens")]
            costs |= {name: sum(rank[name] for rank in ranks) for name in counted}
        return costs


def read_clock() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time() if WORLD == 1 else time.perf_counter()


@functools.cache
def make_model(shape: str, bf16: bool) -> str:
    """Return the folder of a new model. TRL loads it again for a KL term."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=VOCABULARIES.get(shape, len(tokenizer)), num_key_value_heads=2, max_position_embeddings=32_768,
        tie_word_embeddings=True, pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
        **SHAPES[shape],
    )  # fmt: skip
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16 if bf16 else torch.float32)
    model.save_pretrained(folder.name)
    tokenizer.save_pretrained(folder.name)
    return folder.name


def make_prompts(lengths: Lengths) -> Dataset:
    """Return prompts of digits, each of which is a token."""
    rng = random.Random(0)
    prompts = [rows.prompt for rows in lengths.draw(rng, 512)[::GROUP]]
    return Dataset.from_list([{"prompt": "".join(rng.choices("0123456789", k=count))} for count in prompts])


def run(theirs: bool, job: Job) -> dict[str, float]:
    """Train with one of the trainers and return what it cost."""
    cls, config = (GRPOTrainer, GRPOConfig) if theirs else (FilteredGRPOTrainer, FilteredGRPOConfig)
    on_gpu = torch.cuda.is_available()
    gc.collect()
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    meters: list[Meter] = []

    def scripted(prompts: list, **kwargs: Any) -> list[float]:
        return meters[0].score(prompts)

    with tempfile.TemporaryDirectory() as folder:
        args = config(
            folder, use_cpu=not on_gpu, bf16=job.bf16, report_to="none", save_strategy="no", disable_tqdm=True,
            logging_steps=1000, lr_scheduler_type="constant", learning_rate=1e-6, num_generations=GROUP,
            per_device_train_batch_size=job.rows // job.accumulate, gradient_accumulation_steps=job.accumulate,
            max_steps=(job.steps + WARMUP) * job.iterations, max_completion_length=job.lengths.cap,
            model_init_kwargs={"dtype": "bfloat16" if job.bf16 else "float32", "attn_implementation": job.attention},
            **job.options,
        )  # fmt: skip
        trainer = cls(
            job.model,
            [scripted],
            args=args,
            train_dataset=make_prompts(job.lengths),
            peft_config=LoraConfig(task_type="CAUSAL_LM", target_modules="all-linear") if job.lora else None,
        )
        trainer.remove_callback(PrinterCallback)
        meters.append(Meter(job, trainer))
        trainer.train()
    costs = meters[0].sum_up()
    return costs | {"peak": torch.cuda.max_memory_allocated()} if on_gpu else costs


def compare(job: Job) -> Pair:
    return Pair(run(True, job), run(False, job))


def keep_quiet(threads: int) -> None:
    """Leave only the table on the screen. One thread is best on a machine with other load, as several wait for each other."""
    torch.set_num_threads(threads)
    warnings.simplefilter("ignore", FutureWarning)
    logging.getLogger("trl_grpo_rewards").setLevel(logging.ERROR)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def compare_costs(pairs: list[Pair], job: Job) -> dict[str, Any]:
    """Return what our runs cost relative to the base's, as medians, and what each computed for each needed token."""
    needed = sum_costs(pairs, "needed")[1]
    passes = {"with": job.iterations, "without": job.passes_without_gradient}
    return {
        **{name: take_ratio(pairs, name) for name in ("step", "update", "peak")},
        **{
            f"padding {kind} gradient": [
                tokens / needed / times for tokens in sum_costs(pairs, f"tokens {kind} gradient")
            ]
            for kind, times in passes.items()
            if times
        },
        "passes": [
            round((first + second) / len(pairs))
            for first, second in zip(*(sum_costs(pairs, f"passes {kind} gradient") for kind in passes), strict=True)
        ],
        "seconds": [statistics.median(side["update"] for side in sides) for sides in zip(*pairs, strict=True)],
        "pairs": [pair._asdict() for pair in pairs],
    }


def sum_costs(pairs: list[Pair], name: str) -> list[float]:
    """Return the base's sum over the pairs and ours."""
    return [sum(costs.get(name, 0.0) for costs in sides) for sides in zip(*pairs, strict=True)]


def take_ratio(pairs: list[Pair], name: str) -> float | None:
    ratios = [ours[name] / base[name] for base, ours in pairs if base.get(name)]
    return statistics.median(ratios) if ratios else None


def show(value: Any) -> str:
    """Return the text of a table's cell."""
    if isinstance(value, list):
        return ", ".join(map(show, value))
    return "" if value is None else f"{value:.2f}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", nargs="+", choices=[*CASES], default=[*CASES])
    parser.add_argument("--dead", type=float, nargs="+", default=[0.0, 0.5], help="shares of dead groups")
    parser.add_argument("--model", default="small", help=f"{', '.join(SHAPES)}, or the folder of a model")
    parser.add_argument("--rows", type=int, default=64, help="completions per rank and step")
    parser.add_argument("--accumulate", type=int, default=32, help="gradient accumulation steps")
    parser.add_argument("--mean", type=int, default=150, help="mean number of tokens of a completion")
    parser.add_argument("--cap", type=int, default=512, help="maximum number of tokens of a completion")
    parser.add_argument("--prompt", type=int, default=20, help="mean number of tokens of a prompt")
    parser.add_argument("--lengths", choices=["lognormal", "equal"], default="lognormal")
    parser.add_argument("--generation", action="store_true", help="generate as many tokens as are scripted")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument(
        "--steps", type=int, default=2, help=f"generations that are measured, after {WARMUP} that warm up"
    )
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="threads of each rank on a CPU")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def main() -> None:
    args = read_options()
    keep_quiet(args.threads)
    model = make_model(args.model, args.bf16) if args.model in SHAPES else args.model
    spread = SPREAD if args.lengths == "lognormal" else 0.0
    lengths, rows = Lengths(args.mean, args.cap, args.prompt, spread), []
    if RANK == 0:
        print(f"{args.model} model, {WORLD} rank(s), {args.rows} completions per rank, cap {args.cap}\n")
        print("| case | dead |", " | ".join(COLUMNS.values()), "| TRL's update |")
        print("|---" * (len(COLUMNS) + 3) + "|")
    for case in args.cases:
        for dead in args.dead:
            job = Job(
                model, lengths, dead=dead, rows=args.rows, accumulate=args.accumulate, steps=args.steps,
                generates=args.generation, bf16=args.bf16, **CASES[case],
            )  # fmt: skip
            pairs = [compare(replace(job, seed=seed)) for seed in range(args.pairs)]
            row = {"case": case, "dead": dead, **compare_costs(pairs, job)}
            rows.append(row)
            if RANK == 0:
                cells = " | ".join(show(row.get(name)) for name in COLUMNS)
                print(f"| {case} | {dead:.0%} | {cells} | {row['seconds'][0]:.2f} s |", flush=True)
    if args.json and RANK == 0:
        settings = {name: value for name, value in vars(args).items() if name != "json"}
        args.json.write_text(json.dumps({"ranks": WORLD, "settings": settings, "cases": rows}, indent=1))


if __name__ == "__main__":
    main()
