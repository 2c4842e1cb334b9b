"""Short real runs on a CPU for `measure_warnings.py`: healthy ones, and runs with a fault that is planted at a known step.

A plan says what is trained and what goes wrong. The model is the bundled one, or a tiny one of random weights, which first
learns to write short random texts, so that its completions end. The seeds were set before the rules of the warnings were
final. The ways of the second half do not occur in the first one.
"""

import atexit
import functools
import math
import random
import shutil
import string
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset, concatenate_datasets
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, reward


STEPS = 60
HALVES = ("first", "second")
CLOCK = {"step": 1}
"""The step that the trainer is at. Rewards that change during a run read it."""


@dataclass(frozen=True)
class Plan:
    """One run: what is trained, and what goes wrong from a step on."""

    half: str
    way: str
    seed: int
    causes: tuple[str, ...] = ()  # the rules that name the fault; without any, the run is healthy
    onset: int = 1  # the first step with the fault
    model: str = "tiny"
    trainer: str = "ours"
    rewards: tuple[tuple[str, float], ...] = (("digit", 1.0),)  # names in `REWARDS`, with weights
    options: dict[str, Any] = field(default_factory=dict)
    kinds: tuple[str, ...] = ("1+1",)  # of problems; with several, as in a curriculum, one after the other
    held_out: bool = False

    @property
    def name(self) -> str:
        return f"{self.half}-{self.way}-{self.model}-{self.trainer}-{self.seed}"

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, **asdict(self)}


# --- rewards


LIMIT = 12
"""Largest number of tokens of the tiny model's texts. A token is a character."""


@reward(outcome=True)
def digit(completion: str) -> float:
    """1 if the text begins with a digit and ends before the limit."""
    return float(completion[:1].isdigit() and len(completion) < LIMIT)


@reward(outcome=True)
def common(completion: str) -> float:
    """1 if the text begins with one of many letters and ends before the limit."""
    return float(completion[:1] in {*"aeiouybcdfgh"} and len(completion) < LIMIT)


@reward(outcome=True)
def rare(completion: str) -> float:
    """1 if the text begins with two digits and ends before the limit, which few texts do."""
    return float(completion[:2].isdigit() and 1 < len(completion) < LIMIT)


@reward(outcome=True)
def distance(completion: str) -> float:
    """Minus the difference between the length of the text and 5."""
    return -abs(len(completion) - 5) / 5


@reward(outcome=True)
def growth(completion: str) -> float:
    """Minus the difference between the length of the text and 9, so that texts must grow."""
    return -abs(len(completion) - 9) / 9


@reward(outcome=True)
def letters(completion: str) -> float:
    """The share of letters."""
    return sum(one.isalpha() for one in completion) / max(len(completion), 1)


@reward(outcome=True)
def some_rows(prompt: str, completion: str) -> float | None:
    """1 if the text begins with a digit. Half of the prompts are not scored."""
    return None if prompt[-2] in "02468" else digit()(completions=[completion])[0]


@reward
def form(completion: str) -> float:
    """1 if the text has at most six characters."""
    return float(len(completion) <= 6)


@reward
def silent(completion: str) -> float:
    """Always 0, as if what it looks for were misspelt."""
    return 0.0


@reward(outcome=True)
def never(completion: str) -> float:
    """Always 0, as if the solutions were in the wrong form."""
    return 0.0


@reward(outcome=True)
def always(completion: str) -> float:
    return 1.0


@reward(outcome=True)
def chance(completion: str) -> float:
    """Random, as of a judge that does not read the text."""
    return float(random.random() < 0.5)


@reward
def longer(completion: str) -> float:
    return len(completion) / 20


def until(onset: int, after: Callable[[float], float | None]) -> Callable[..., list[float | None]]:
    """Return a plain function for TRL that scores as `digit` does, and from a step on something else."""

    def outcome(completions: list[Any], **columns: Any) -> list[float | None]:
        scores = digit()(completions=completions)
        return scores if CLOCK["step"] < onset else [after(one) for one in scores]

    outcome.__name__ = "digit"
    return outcome


def open_loophole(onset: int, loophole: Callable[[str], float]) -> Callable[..., list[float]]:
    """Return the reward that is paid: nothing at first, and from a step on more for something else than being right."""

    def bonus(completions: list[Any], **columns: Any) -> list[float]:
        texts = [one[-1]["content"] for one in completions]
        return [3.0 * loophole(one) if CLOCK["step"] >= onset else 0.0 for one in texts]

    return bonus


REWARDS: dict[str, Callable[[int], Any]] = {
    "accuracy": lambda onset: boxed(evaluated=True, name="accuracy"),
    "unpaid_accuracy": lambda onset: never(name="accuracy"),
    **{
        one.__name__: lambda onset, one=one: one()
        for one in (digit, common, rare, distance, growth, letters, some_rows)
    },
    **{one.__name__: lambda onset, one=one: one() for one in (form, silent, never, always, chance, longer)},
    "offline": lambda onset: until(onset, lambda score: None),
    "against": lambda onset: until(onset, lambda score: -score),
    "impossible": lambda onset: until(onset, lambda score: 0.0),
    "letter_bonus": lambda onset: open_loophole(onset, lambda text: float(text[:1].isalpha())),
    "length_bonus": lambda onset: open_loophole(onset, lambda text: len(text) / 12),
    "no_box_bonus": lambda onset: open_loophole(onset, lambda text: float(text[-1:].isdigit())),
}


# --- faults of the training


class Clock(TrainerCallback):
    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        CLOCK["step"] = state.global_step + 1


class Fault(TrainerCallback):
    """Something that happens before each step from the onset on."""

    def __init__(self, trainer: GRPOTrainer, plan: Plan, happen: Callable[[GRPOTrainer, Plan], None]) -> None:
        self.trainer, self.plan, self.happen = trainer, plan, happen

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step + 1 >= self.plan.onset:
            self.happen(self.trainer, self.plan)


def raise_rate(factor: float) -> Callable[[GRPOTrainer, Plan], None]:
    def happen(trainer: GRPOTrainer, plan: Plan) -> None:
        rate = factor * trainer.args.learning_rate
        trainer.lr_scheduler.base_lrs = [rate] * len(trainer.lr_scheduler.base_lrs)
        for part in trainer.optimizer.param_groups:
            part["lr"] = rate

    return happen


def scale_gradients(factor: Callable[[int], float]) -> Callable[[GRPOTrainer, Plan], None]:
    """Return a fault that multiplies gradients by a number that depends on the step."""

    def happen(trainer: GRPOTrainer, plan: Plan) -> None:
        if CLOCK["step"] == plan.onset:
            for one in trainer.model.parameters():
                one.register_hook(lambda gradient: gradient * factor(CLOCK["step"] - plan.onset))

    return happen


class Skip(TrainerCallback):
    """Leaves out updates with NaN, as the scaler of float16 does."""

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        for one in model.parameters():
            one.grad = torch.zeros_like(one) if one.grad is not None and one.grad.isnan().any() else one.grad


def cool(trainer: GRPOTrainer, plan: Plan) -> None:
    trainer.temperature = trainer.generation_config.temperature = 0.02


def damage(trainer: GRPOTrainer, plan: Plan) -> None:
    """Add noise to the weights once, as a faulty merge of weights does."""
    if CLOCK["step"] == plan.onset:
        torch.manual_seed(plan.seed)
        with torch.no_grad():
            for one in trainer.model.parameters():
                one += 3 * one.std() * torch.randn_like(one) if one.ndim > 1 else 0


def wait(trainer: GRPOTrainer, plan: Plan) -> None:
    """Make scoring slow, as a crowded server does."""
    calculate = trainer._calculate_rewards
    if CLOCK["step"] == plan.onset:
        trainer._calculate_rewards = lambda *args, **kwargs: (time.sleep(1.0), calculate(*args, **kwargs))[1]


FAULTS: dict[str, Callable[[GRPOTrainer, Plan], None]] = {
    "high_rate": raise_rate(300),
    "rate_times_50": raise_rate(50),
    "no_gradient": scale_gradients(lambda since: 0.0),
    "float16": scale_gradients(lambda since: math.nan),
    "spikes": scale_gradients(lambda since: 1e5 if since in (0, 3, 4, 9, 15, 20) else 1.0),
    "cold": cool,
    "damage": damage,
    "slow_scoring": wait,
}
"""Faults of the training by the name of their way. Other ways have a fault in a reward, an option or the prompts."""


# --- plans


def draw_healthy(half: str, seeds: range) -> list[Plan]:
    """Return healthy runs of every kind. What changes from one to the next is the task, the size and the trainer."""
    tasks: list[dict[str, Any]] = [
        {"rewards": (("digit", 1.0),)},
        {"rewards": (("common", 1.0),), "options": {"learning_rate": 2e-3}},  # saturates
        {"rewards": (("digit", 1.0), ("form", 0.2))},
        {"rewards": (("distance", 1.0),)},
        {"rewards": (("letters", 1.0),), "held_out": True},
        {"rewards": (("digit", 1.0), ("form", 0.3)), "kinds": ("1+1", "2+2", "3+3"), "held_out": True},  # a curriculum
        {"rewards": (("some_rows", 1.0), ("form", 0.2))},
        {"rewards": (("accuracy", 1.0),), "model": "bundled"},
        {"rewards": (("rare", 1.0),), "options": {"num_generations": 16}},
        {"rewards": (("growth", 1.0), ("letters", 0.5)), "options": {"learning_rate": 5e-4}},
        {"rewards": (("digit", 1.0),), "options": {"learning_rate": 3e-4}},
        {"rewards": (("digit", 1.0),), "options": {"beta": 0.02, "num_generations": 4}},
    ]
    plans = []
    for seed in seeds:
        task = tasks[seed % len(tasks)]
        plans.append(Plan(half, "healthy", seed, trainer=("ours", "trl")[seed // len(tasks) % 2], **task))
    return plans


NOT_LIVE = ("dead", "mostly_dead")
WORSE = ("form", "held_out_fall", "fall", "longer")
BROKEN = ("broken", "entropy_rise", "kl")
WAYS: list[Plan] = [
    # the first half
    Plan("first", "short_limit", 101, ("cut_off",), model="bundled", rewards=(("accuracy", 1.0),), options={"max_completion_length": 9}),
    Plan("first", "short_limit", 102, ("cut_off",), trainer="trl", rewards=(("growth", 1.0),), options={"max_completion_length": 4}),
    Plan("first", "unpaid", 103, ("unpaid",), rewards=(("unpaid_accuracy", 1.0), ("form", 0.5))),
    Plan("first", "never_right", 104, NOT_LIVE, trainer="trl", rewards=(("never", 1.0),)),
    Plan("first", "high_rate", 105, BROKEN, 21),
    Plan("first", "high_rate", 106, BROKEN, 26, model="bundled", trainer="trl", rewards=(("accuracy", 1.0),)),
    Plan("first", "no_gradient", 107, ("no_gradient",), 21, trainer="trl"),
    Plan("first", "server_down", 108, ("unscored",), 21, rewards=(("offline", 1.0), ("form", 0.2))),
    Plan("first", "loophole", 109, WORSE, 26, rewards=(("digit", 1.0), ("letter_bonus", 1.0)), held_out=True),
    Plan("first", "loophole", 110, WORSE, 26, trainer="trl", rewards=(("digit", 1.0), ("letter_bonus", 1.0))),
    Plan("first", "float16", 111, ("not_finite",), 21),
    Plan("first", "hard_prompts", 112, NOT_LIVE, 26, trainer="trl", rewards=(("impossible", 1.0),)),
    Plan("first", "slow_scoring", 113, ("slower",), 31),
    Plan("first", "spikes", 114, ("gradient",), 21),
    Plan("first", "silent_reward", 115, ("weak", "constant"), rewards=(("digit", 1.0), ("silent", 1.0))),
    Plan("first", "random_reward", 116, ("no_rise",), trainer="trl", rewards=(("chance", 1.0),)),
    # the second half
    Plan("second", "tiny_rate", 201, ("no_rise",), rewards=(("digit", 1.0), ("form", 0.2)), options={"learning_rate": 1e-9}),
    Plan("second", "tiny_rate", 202, ("no_rise",), model="bundled", trainer="trl", rewards=(("accuracy", 1.0),), options={"learning_rate": 1e-8}),
    Plan("second", "strong_anchor", 203, ("no_rise",), trainer="trl", options={"beta": 50.0}),
    Plan("second", "few_completions", 204, (*NOT_LIVE, "no_rise"), trainer="trl", rewards=(("rare", 1.0),), options={"num_generations": 2, "learning_rate": 1e-6}),
    Plan("second", "wrong_sign", 205, WORSE, 26, rewards=(("against", 1.0), ("form", 0.2)), held_out=True),
    Plan("second", "wrong_sign", 206, WORSE, 26, trainer="trl", rewards=(("digit", 0.0), ("letter_bonus", 1.0))),
    Plan("second", "cold", 207, (*NOT_LIVE, "duplicates"), 21, rewards=(("letters", 1.0),)),
    Plan("second", "length_loophole", 208, (*WORSE, "truncation", "cut_off"), 26, rewards=(("digit", 0.2), ("length_bonus", 1.0))),
    Plan("second", "length_loophole", 209, (*WORSE, "truncation", "cut_off"), 26, trainer="trl", rewards=(("digit", 0.2), ("length_bonus", 1.0))),
    Plan("second", "too_easy", 210, ("dead",), trainer="trl", rewards=(("always", 1.0),)),
    Plan("second", "damage", 211, BROKEN, 31, model="bundled", rewards=(("accuracy", 1.0),)),
    Plan("second", "damage", 212, BROKEN, 31, trainer="trl"),
    Plan("second", "rate_from_start", 213, BROKEN, options={"learning_rate": 1.0}),
    Plan("second", "no_box_loophole", 214, WORSE, 26, model="bundled", rewards=(("accuracy", 1.0), ("no_box_bonus", 1.0))),
    Plan("second", "rate_times_50", 215, BROKEN, 26, rewards=(("distance", 1.0),), options={"beta": 0.01}),
    Plan("second", "silent_beside", 216, ("weak", "constant"), trainer="trl", rewards=(("letters", 1.0), ("silent", 0.5))),
]  # fmt: skip
PLANS = [
    *draw_healthy("first", range(16)),
    *draw_healthy("second", range(20, 52)),
    *WAYS,
]


# --- training


@functools.cache
def make_tiny_model(seed: int) -> str:
    """Save a tiny model of random weights that has learned to write random texts of one to nine characters."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    config = AutoConfig.from_pretrained(demo.MODEL)
    config.update(
        {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "layer_types": ["full_attention"]}
    )
    config.update({"num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16})
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    prompts = demo.arithmetic(size=256, seed=seed)["prompt"]
    for _ in range(400):
        rows = []
        for prompt in rng.sample(prompts, 16):
            text = "".join(rng.choices(string.ascii_lowercase + string.digits, k=rng.randint(1, 9)))
            rows.append(
                tokenizer.apply_chat_template([*prompt, {"role": "assistant", "content": text}], tokenize=False)
            )
        batch = tokenizer(rows, return_tensors="pt", padding=True)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        model(**batch, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def build_trainer(plan: Plan, folder: Path) -> GRPOTrainer:
    """Return the trainer of a plan. Its options are small, so that a run takes seconds."""
    is_ours, is_tiny = plan.trainer == "ours", plan.model == "tiny"
    parts = [demo.arithmetic(size=60 if kind == "1+1" else 300, seed=plan.seed, kinds=[kind]) for kind in plan.kinds]
    options = {
        "output_dir": str(folder), "max_steps": STEPS, "seed": plan.seed, "use_cpu": True, "bf16": False,
        "per_device_train_batch_size": 64 if is_tiny else 128, "num_generations": 8,
        "max_completion_length": LIMIT if is_tiny else 32, "learning_rate": 1e-3 if is_tiny else 5e-4,
        "lr_scheduler_type": "constant", "beta": 0.0, "model_init_kwargs": {"dtype": "float32"}, "gradient_checkpointing": False, "logging_steps": 1,
        "save_strategy": "no", "report_to": "none", "disable_tqdm": True, "shuffle_dataset": len(parts) == 1,
    }  # fmt: skip
    if plan.held_out:
        options |= {
            "eval_strategy": "steps",
            "eval_steps": 6,
            "per_device_eval_batch_size": 64,
            "num_generations_eval": 4,
        }
    if is_ours:
        options |= {"group_records_ids": False}
    functions = [REWARDS[name](plan.onset) for name, _ in plan.rewards]
    options |= {"reward_weights": [weight for _, weight in plan.rewards], **plan.options}
    trainer = (FilteredGRPOTrainer if is_ours else GRPOTrainer)(
        make_tiny_model(plan.seed % 3) if is_tiny else demo.MODEL,
        functions,
        args=(FilteredGRPOConfig if is_ours else GRPOConfig)(**options),
        train_dataset=stack(parts),
        eval_dataset=demo.arithmetic("test", size=16) if plan.held_out else None,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Clock())
    if plan.way == "float16":
        trainer.add_callback(Skip())
    if plan.way in FAULTS:
        trainer.add_callback(Fault(trainer, plan, FAULTS[plan.way]))
    return trainer


def stack(parts: list[Dataset]) -> Dataset:
    """Return problems for all steps, of a curriculum the same number of each kind."""
    count = STEPS * 16 // len(parts)
    return concatenate_datasets([part.select([place % len(part) for place in range(count)]) for part in parts])
