"""Short runs of TRL's trainer and of ours on the same completions, measured step by step. Not a script."""

import atexit
import contextlib
import functools
import gc
import logging
import os
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import KW_ONLY, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from accelerate.utils import gather_object
from bench_padding import GROUP, Lengths, choose_dead
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, Qwen2Config, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo


WORLD, RANK = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))

SHAPES = {
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2},
    "small": {"hidden_size": 192, "intermediate_size": 512, "num_hidden_layers": 6, "num_attention_heads": 6},
    "0.5B": {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14},
    "1.5B": {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12},
}
"""Models with random weights, in the shapes of Qwen2. Those from 0.5B on have its vocabulary too."""

VOCABULARIES = {"0.5B": 151_936, "1.5B": 151_936}

PROMPTS: dict[str, Callable[[], Dataset]] = {"arithmetic": demo.arithmetic, "requests": demo.requests}

MODES: dict[str, dict[str, Any]] = {
    "auto": {},
    "unpacked": {"packing": False},
    "keep": {"zero_variance": "keep"},
    "skip": {"zero_variance": "skip"},
    "drop": {"zero_variance": "drop"},
    "bare": {"group_records": False},
    "resample": {"zero_variance": "drop", "max_resample_rounds": 2},
    "selective": {"selective": True},
}
"""Options of our trainer. The mode "trl" is TRL's trainer."""


@dataclass(frozen=True)
class Job:
    """
    What both trainers are given.

    Args:
        model (`str`):
            The folder of a model.
        lengths (`Lengths`, *optional*):
            Lengths of scripted completions. By default the model samples.
        cap (`int`):
            Maximum number of tokens of a completion.
        prompts (`str`):
            Name of the bundled dataset whose prompts the model answers, if it samples: a key of [`PROMPTS`].
        generates (`bool`):
            Whether the model also generates as many tokens as the scripted completions have. They are thrown away.
        steps (`int`):
            Generations that are measured, after one that warms up.
    """

    model: str
    lengths: Lengths | None
    cap: int
    _: KW_ONLY
    prompts: str = "arithmetic"
    dead: float = 0.0
    rows: int = 64
    accumulate: int = 32
    steps: int = 2
    seed: int = 0
    generates: bool = False
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
        self.dead = choose_dead(rng, groups, self.job.dead)
        scripted = self.write_completions(rng, groups)
        start = read_clock()
        if scripted is None:
            completions, logps = self.sample(prompt_ids, *args, **kwargs)
        else:
            completions, logps = scripted, None
            if self.job.generates:
                config = self.trainer.generation_config
                config.max_new_tokens = config.min_new_tokens = max(map(len, scripted))
                self.sample(prompt_ids, *args, **kwargs)
        self.add("generation", read_clock() - start)
        for row, (prompt, completion) in enumerate(zip(prompt_ids, completions, strict=True)):
            if self.keeps_dead or not self.is_dead(row, len(prompt_ids)):
                self.add("needed", len(prompt) + len(completion))
        return completions, logps

    def write_completions(self, rng: random.Random, groups: int) -> list[list[int]] | None:
        """Return random token ids for the rows of this rank. A completion that is not cut ends as TRL expects it."""
        if self.job.lengths is None:
            return None
        tokenizer = self.trainer.processing_class
        rows = self.job.lengths.draw(rng, groups)
        count = len(rows) // WORLD
        written = []
        for row in rows[RANK * count : (RANK + 1) * count]:
            ids = [rng.randrange(5, len(tokenizer)) for _ in range(row.completion)]
            written.append(ids if row.completion == self.job.cap else [*ids[1:], tokenizer.eos_token_id])
        return written

    def is_dead(self, row: int, count: int) -> bool:
        return (RANK * count + row) // GROUP in self.dead

    def score(self, prompts: list, **kwargs: Any) -> list[float]:
        """The reward: scores alternate in live groups."""
        return [float(self.is_dead(row, len(prompts)) or row % 2) for row in range(len(prompts))]

    def count(self, model: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        if "labels" in kwargs:  # not in generation
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
        measured = self.steps[self.job.iterations :]  # the first generation warms up
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


def run(mode: str, job: Job) -> dict[str, float]:
    """Train with one of the trainers and return what it cost."""
    theirs = mode == "trl"
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
            max_steps=(job.steps + 1) * job.iterations, max_completion_length=job.cap,
            model_init_kwargs={"dtype": "bfloat16" if job.bf16 else "float32", "attn_implementation": job.attention},
            **job.options, **({} if theirs else MODES[mode]),
        )  # fmt: skip
        trainer = cls(
            job.model,
            [scripted],
            args=args,
            train_dataset=make_prompts(job.lengths) if job.lengths else PROMPTS[job.prompts](),
            peft_config=LoraConfig(task_type="CAUSAL_LM", target_modules="all-linear") if job.lora else None,
        )
        trainer.remove_callback(PrinterCallback)
        meters.append(Meter(job, trainer))
        trainer.train()
    costs = meters[0].sum_up()
    return costs | {"peak": torch.cuda.max_memory_allocated()} if on_gpu else costs


def compare(base: str, mode: str, job: Job) -> Pair:
    return Pair(run(base, job), run(mode, job))


def keep_quiet(threads: int) -> None:
    """
    Leave only the table on the screen, and compute with some threads.

    One thread is best on a machine with other load, where several threads wait for each other in every operation.
    """
    torch.set_num_threads(threads)
    warnings.simplefilter("ignore", FutureWarning)
    logging.getLogger("trl_grpo_rewards").setLevel(logging.ERROR)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def measure_peak(mode: str, job: Job) -> float:
    """Return the memory that a run adds to a new process, in bytes. On a GPU, `run` measures it. Linux only."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(run_and_read_peak, mode, job).result()


def run_and_read_peak(mode: str, job: Job) -> float:
    before = read_memory("VmRSS")
    run(mode, job)
    return float(read_memory("VmHWM") - before)


def read_memory(name: str) -> int:
    """Return the memory of this process in bytes: at present (`VmRSS`) or at its peak (`VmHWM`). 0 except on Linux."""
    with contextlib.suppress(OSError):
        status = Path("/proc/self/status").read_text()
        return int(status.split(f"{name}:")[1].split()[0]) * 1024
    return 0


def compare_costs(pairs: list[Pair], job: Job) -> dict[str, Any]:
    """
    Return what our runs cost relative to the base's, and what each computed for each token that was needed.

    Ratios of seconds and memory are medians over the pairs. Values of both trainers are lists of two.
    """
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
