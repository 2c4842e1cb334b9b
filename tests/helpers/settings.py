"""The settings in which our trainer must have TRL's gradient. `grid.py` trains with them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any

from transformers import AutoTokenizer

from helpers.architectures import ARCHITECTURES
from trl_grpo_rewards import demo
from trl_grpo_rewards.training.config import ROW_MEANS, TOKEN_MEANS


TOKENIZER = AutoTokenizer.from_pretrained(demo.MODEL)
END = [TOKENIZER.eos_token_id]

OPTIONS = {
    "per_device_train_batch_size": 4,
    "num_generations": 4,
    "steps_per_generation": 4,
    "gradient_accumulation_steps": 4,
    "max_completion_length": 12,
    "max_steps": 2,
    "optim": "sgd",
    "learning_rate": 0.02,
    "lr_scheduler_type": "constant",
    "max_grad_norm": 0.0,
    "generation_kwargs": {"sequence_bias": [[END, 3.5]]},  # completions of 1 to 12 tokens
    "model_init_kwargs": {"dtype": "auto", "experts_implementation": "eager"},  # the others lack float64
}
"""The options of all settings."""


@dataclass(frozen=True)
class Setting:
    """A training run."""

    name: str  # what differs from the other settings
    options: dict[str, Any] = field(default_factory=dict)  # of TRL, where they differ from `OPTIONS`
    auto: str = "skip"  # what `zero_variance="auto"` amounts to
    modes: Sequence[str] = ("auto",)  # values of `zero_variance` to compare with TRL
    dead: float = 0.5  # share of prompts whose groups are dead
    prompts: int = 32
    rewards: int = 1  # reward functions, at most 2
    model: str = "dense"  # one of `architectures.py`
    adapter: str | None = None  # what is trained instead of the model
    vllm: str | None = None  # mode of the correction for vLLM's log-probabilities; otherwise transformers samples

    def __str__(self) -> str:
        return self.name

    @property
    def is_exact(self) -> bool:
        """Whether everything is computed in float64, see `precision.py`."""
        return self.model in ("dense", "shallow", "experts") and self.adapter in (None, "LoRA")

    @property
    def most(self) -> float:
        """The largest relative difference between gradients. TRL computes routers, and the mean of rewards, in float32."""
        is_rounded = self.model == "experts" or "multi_objective_aggregation" in self.options
        if self.model == "qwen3_5_text":
            return 3e-6  # its states are computed in float32; one CPU has 1.6e-6
        return (1e-7 if is_rounded else 1e-11) if self.is_exact else 1e-6


def make(name: str, **options: Any) -> Setting:
    """Return a setting of fields of [`Setting`] and of options of TRL."""
    own = {one.name: options.pop(one.name) for one in fields(Setting) if one.name in options}
    return Setting(name, options, **own)


LOSSES = {**dict.fromkeys(ROW_MEANS + TOKEN_MEANS, "skip"), "bnpo": "keep"}
"""The losses of TRL, and what `zero_variance="auto"` amounts to."""

BOTH = ("auto", "keep")


def split(steps_per_generation: int, gradient_accumulation_steps: int) -> dict[str, int]:
    return {"steps_per_generation": steps_per_generation, "gradient_accumulation_steps": gradient_accumulation_steps}


OF_LOSSES = [
    make(
        f"{loss}, {share:.0%} dead",
        loss_type=loss,
        auto=auto,
        dead=share,
        modes=BOTH if (auto, share) == ("skip", 0.5) else ("auto",),
    )
    for (loss, auto), share in product(LOSSES.items(), (0.0, 0.5, 1.0))
]
OF_LOSSES += [
    make(f"{loss}, an update for each micro-batch", loss_type=loss, auto=auto, **split(4, 1), max_steps=6)
    for loss, auto in LOSSES.items()
]
OF_LOSSES += [
    make(
        f"{loss}, two generations a step, two iterations, ratios of sequences",
        **{"loss_type": loss, "num_iterations": 2, "importance_sampling_level": "sequence", **split(2, 4)},
        auto=auto,
        max_steps=4,
    )
    for loss, auto in LOSSES.items()
]

OF_STEPS = [
    make(f"{iterations} iterations, generations of {steps}, accumulation of {accumulation}", num_iterations=iterations, **split(steps, accumulation), max_steps=5)
    for iterations, steps, accumulation in product((1, 2, 3), (1, 2, 4), (1, 2, 4))
]  # fmt: skip
OF_STEPS += [
    make(f"generations of {steps}, accumulation of {accumulation}", **split(steps, accumulation), max_steps=5)
    for steps, accumulation in ((3, 2), (4, 6))
]

OF_REWARDS = [
    make(f"scale_rewards={scale}, {what}", scale_rewards=scale, **extra)
    for scale, (what, extra) in product(
        ("group", "batch", "none"),
        {
            "one reward": {},
            "two rewards": {"rewards": 2, "reward_weights": [1.0, 0.25]},
            "normalize_then_sum": {
                "rewards": 2,
                "reward_weights": [1.0, 0.25],
                "multi_objective_aggregation": "normalize_then_sum",
                "modes": BOTH,
            },
        }.items(),
    )
]

OF_TRUNCATION = [
    make(f"truncated rows masked, {loss}", mask_truncated_completions=True, max_completion_length=6, loss_type=loss, auto=auto)
    for loss, auto in LOSSES.items()
]  # fmt: skip
OF_TRUNCATION += [
    make("all rows truncated and masked", mask_truncated_completions=True, max_completion_length=1, generation_kwargs={"suppress_tokens": END})
]  # fmt: skip

OF_RATIOS = [
    make("ratios bounded by delta, two iterations", delta=1.5, epsilon=0.05, num_iterations=2, modes=BOTH),
    make("off-policy mask, three iterations", off_policy_mask_threshold=0.01, num_iterations=3, max_steps=3),
]
OF_RATIOS += [
    make(f"correction of vLLM, {mode}", vllm=mode, modes=BOTH)
    for mode in ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
]

OF_OPTIMIZERS = [
    make("gradient checkpointing", gradient_checkpointing=True, modes=BOTH),
    make(
        "reentrant gradient checkpointing",
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": True},
    ),
    make("widths of a multiple of 8", pad_to_multiple_of=8),
    make("clipping", max_grad_norm=0.1),
    make("AdamW", optim="adamw_torch"),
    make("AdamW with weight decay, 100% dead", optim="adamw_torch", weight_decay=0.1, dead=1.0),
    make("workers of the data loader", dataloader_num_workers=1),
    make("two epochs with a remainder", prompts=10, num_train_epochs=2, max_steps=-1, dataloader_drop_last=True),
]

OF_SIZES = [
    make(f"{what}, {loss}", loss_type=loss, **extra)
    for loss, (what, extra) in product(
        ("dapo", "grpo"),
        {
            "generation_batch_size=24": {"steps_per_generation": None, "generation_batch_size": 24},
            "micro-batches of 1 row": {"per_device_train_batch_size": 1, **split(8, 8)},
            "micro-batches of 2 rows": {"per_device_train_batch_size": 2, "modes": BOTH},
            "micro-batches of 3 rows": {"per_device_train_batch_size": 3},
            "micro-batches of 8 rows": {"per_device_train_batch_size": 8, **split(1, 2)},
            "groups of 32": {"per_device_train_batch_size": 8, "num_generations": 32, "prompts": 4},
        }.items(),
    )
]

OF_ADAPTERS = [
    make("LoRA", adapter="LoRA", modes=BOTH),
    make("LoRA, two iterations", adapter="LoRA", num_iterations=2, gradient_accumulation_steps=2, max_steps=3),
    make("LoRA, gradient checkpointing", adapter="LoRA", gradient_checkpointing=True),
    make("LoRA, KL term", adapter="LoRA", beta=0.1, auto="keep"),
]

OF_ADAPTERS += [make(name, adapter=name, max_steps=1) for name in ("prompt tuning", "p-tuning")]

OF_MODELS = [
    make(f"{model}, {what}", model=model, auto="keep" if "balanced" in what else "skip", **options)
    for model, what, options in [
        ("gpt2", "learned positions", {}),
        ("opt", "positions that count no padding", {}),
        ("bloom", "distances", {}),
        ("llama, dynamic", "rotation that depends on the width", {}),
        ("phi3, longrope", "rotation that depends on the width", {}),
        ("gemma3_text", "windows and two rotations", {}),
        ("gpt_oss", "windows, sinks and balanced experts", {}),
        ("mamba", "states", {}),
        ("falcon_h1", "states and rotation in each layer", {}),
        ("lfm2", "convolutions", {}),
        ("qwen3_5_text", "states by the delta rule", {}),
        ("minimax", "linear attention and balanced experts", {}),
        ("recurrent_gemma", "states that include padding", {}),
        ("deepseek_v4", "windows that are compressed, and experts", {"router_aux_loss_coef": 0.0}),
        ("deepseek_v3", "latent attention and experts", {}),
    ]
]
BY_HAND = [make(f"architecture {name}", model=name) for name in ARCHITECTURES]
"""Settings that only `scripts/compare_gradients.py` compares."""

OF_ALL_ROWS = [
    make(f"KL term{name}", auto="keep", beta=0.1, **options)
    for name, options in {
        "": {},
        ", grpo": {"loss_type": "grpo"},
        ", luspo": {"loss_type": "luspo", "importance_sampling_level": "sequence"},
        ", two iterations": {"num_iterations": 2},
        ", reference model that follows": {"sync_ref_model": True, "ref_model_sync_steps": 1, "max_steps": 3},
        ", truncated rows masked": {"mask_truncated_completions": True, "max_completion_length": 6},
        ", normalize_then_sum": {"rewards": 2, "multi_objective_aggregation": "normalize_then_sum"},
        ", correction of vLLM": {"vllm": "sequence_mask"},
        ", evaluation after each step": {"eval_strategy": "steps", "eval_steps": 1, "per_device_eval_batch_size": 4},
    }.items()
]
OF_ALL_ROWS += [
    make(name, auto="keep", **options)
    for name, options in {
        "quantile of entropy": {"top_entropy_quantile": 0.2},
        "entropy bonus": {"entropy_coef": 0.01},
        "entropy bonus, grpo": {"entropy_coef": 0.01, "loss_type": "grpo"},
        "adaptive entropy bonus": {"use_adaptive_entropy": True, "max_steps": 3},
        "mixture of experts": {"model": "experts"},
        "mixture of experts, KL term": {"model": "experts", "beta": 0.1, "loss_type": "grpo"},
    }.items()
]
OF_ALL_ROWS += [make("mixture of experts without its loss", model="experts", router_aux_loss_coef=0.0)]
OF_ALL_ROWS += [
    make(f"drop without dead groups, {loss}", loss_type=loss, modes=["drop"], dead=0.0) for loss in ("dapo", "grpo")
]

SETTINGS = [
    *(OF_LOSSES + OF_STEPS + OF_REWARDS + OF_TRUNCATION + OF_RATIOS),
    *(OF_OPTIMIZERS + OF_SIZES + OF_ADAPTERS + OF_MODELS + OF_ALL_ROWS),
    # The last one, because TRL collects garbage after each run, and the compiler leaves many objects.
    make("compiled", torch_compile=True, torch_compile_backend="eager", model="shallow", max_steps=1),
]
"""Settings of one rank."""

RANKS = [
    make("two ranks, dapo", modes=BOTH),
    make("two ranks, grpo, two iterations, groups on both ranks", loss_type="grpo", num_iterations=2, num_generations=8, gradient_accumulation_steps=2, max_steps=3),
    make("two ranks, an update for each micro-batch, groups on both ranks", num_generations=8, **split(1, 1), max_steps=4),
    make("two ranks, 100% dead", dead=1.0),
    make("two ranks, luspo, ratios of sequences, truncated rows masked", loss_type="luspo", importance_sampling_level="sequence", mask_truncated_completions=True),
    make("two ranks, KL term", beta=0.1, auto="keep"),
]  # fmt: skip
RANKS += [
    make(f"two ranks, {name}", **options, num_generations=16, dead=0.0, max_steps=4)
    for name, options in {
        "learned positions": {"model": "gpt2"},
        "rotation that depends on the width": {"model": "phi3, longrope"},
        "prompt tuning": {"adapter": "prompt tuning"},
    }.items()
]
RANKS += [
    make(f"two ranks, {loss}, one group of three on both", loss_type=loss, auto=auto, per_device_train_batch_size=6, **split(1, 2))
    for loss, auto in LOSSES.items()
]  # fmt: skip
RANKS += [
    make("two ranks, micro-batches of 1 row", per_device_train_batch_size=1, **split(6, 3)),
    make(
        "two ranks, micro-batches of 2 rows, grpo",
        per_device_train_batch_size=2,
        loss_type="grpo",
        **split(2, 4),
        max_steps=3,
    ),
]
"""Settings of two ranks."""
