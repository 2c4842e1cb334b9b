"""Make the model that is bundled in trl_grpo_rewards/demo/model, from scratch in a few minutes on two cores.

The model is a Qwen3 of 380k parameters with a character tokenizer. It is pre-trained on demonstrations with mistakes:
the demonstrator adds column by column, is wrong in one column half of the time, and forgets `<think>` and the box 40 %
of the time each. GRPO then has to teach care and format, not arithmetic. There is no validation split, no checkpoint
and no mixed precision. At the end, the attention heads are padded with zeros from 24 to 32 dimensions, a size that vLLM
supports on a CPU.

    python scripts/make_demo_model.py --output_dir trl_grpo_rewards/demo/model

With --mixed, the model is made for `demo.MIXED`: sums of numbers with one to four digits, and products of two-digit
numbers. This model is not bundled. Its demonstrator makes more mistakes in longer calculations, so that problems differ
in difficulty.

    python scripts/make_demo_model.py --mixed --output_dir mixed-model

With --programs, the model is made for `demo.programs`: it writes functions of one line. It is bundled in
trl_grpo_rewards/demo/coder and has 100k parameters. Its demonstrator forgets the fence,
confuses operators or takes another number, so that about a third of the programs are right.

    python scripts/make_demo_model.py --programs --steps 1200 --batch_size 32 --output_dir trl_grpo_rewards/demo/coder
"""

import argparse
import random
import string
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from trl_grpo_rewards import demo


SPECIAL = ["<|pad|>", "<|unk|>", "<|im_start|>", "<|im_end|>"]
CHAT_TEMPLATE = (
    "{% if tools %}<|im_start|>system\nTools: {{ tools | tojson }}\n"
    'To call one, write <tool_call>{"name": ..., "arguments": {...}}</tool_call><|im_end|>\n{% endif %}'
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] or '' }}"
    "{% for call in message['tool_calls'] or [] %}<tool_call>{{ call['function'] | tojson }}</tool_call>{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
RESPONSE_TEMPLATE = {  # for TRL to read tool calls; all other text, including `<think>`, is content
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open": "<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close": "<|im_end|>", "content": "text", "content_args": {"strip": False}},
    },
}


def make_tokenizer() -> PreTrainedTokenizerFast:
    characters = string.digits + string.ascii_letters + string.punctuation + " \n"
    vocabulary = {token: index for index, token in enumerate([*SPECIAL, *characters])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<|unk|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<|pad|>",
        unk_token="<|unk|>",
        eos_token="<|im_end|>",
        bos_token="<|im_start|>",
        chat_template=CHAT_TEMPLATE,
        response_template=RESPONSE_TEMPLATE,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def make_model(tokenizer: PreTrainedTokenizerFast, small: bool = False) -> Qwen3ForCausalLM:
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64 if small else 96,
        intermediate_size=160 if small else 256,
        num_hidden_layers=2 if small else 3,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=16 if small else 24,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Qwen3ForCausalLM(config)


@torch.no_grad()
def pad_heads(model: Qwen3ForCausalLM, head_dim: int = 32) -> Qwen3ForCausalLM:
    """Return an equivalent model with larger attention heads, whose new dimensions are zero."""
    # A larger RoPE base keeps the rotation angles. The norms of queries and keys average over more dimensions, and
    # attention divides by the square root of their number. Smaller norm weights, kept in float32, compensate for both.
    old, config = model.config.head_dim, Qwen3Config.from_dict(model.config.to_dict())
    config.head_dim = head_dim
    config.rope_parameters["rope_theta"] **= head_dim / old
    padded = Qwen3ForCausalLM(config).to(model.dtype)
    kept = torch.tensor([*range(old // 2), *range(head_dim // 2, (head_dim + old) // 2)])  # RoPE pairs the two halves
    rows = (head_dim * torch.arange(config.num_attention_heads)[:, None] + kept).flatten()
    for layer in padded.model.layers:
        layer.self_attn.q_norm.float()
        layer.self_attn.k_norm.float()
    weights = padded.state_dict()
    for name, weight in model.state_dict().items():
        if "self_attn" not in name:
            weights[name].copy_(weight)
        elif "norm" in name:
            weights[name].zero_()[kept] = weight.float() * (old / head_dim) ** 0.25
        elif "o_proj" in name:
            weights[name].zero_()[:, rows] = weight
        else:
            weights[name].zero_()[rows] = weight
    padded.generation_config = model.generation_config
    return padded


def add(a: int, b: int, slip: int | None) -> tuple[str, int]:
    """Add column by column from the right. In column `slip` a carry is forgotten, or one is added if there is none."""
    steps, total, carry = [], 0, 0
    columns = max(len(str(a)), len(str(b)))
    for column in range(columns):
        x, y = a // 10**column % 10, b // 10**column % 10
        if column == slip:
            carry, extra = 0, int(carry == 0)
        else:
            extra = 0
        value = x + y + carry + extra
        steps.append(f"{x}+{y}{'+1' if carry else ''}={value}")
        total += (value if column == columns - 1 else value % 10) * 10**column
        carry = value // 10
    return ",".join(steps), total


def multiply(a: int, b: int, slip: int | None) -> tuple[str, int]:
    """Multiply by each digit of b, then add. The result of step `slip` is wrong by ten."""
    off = [10 * (step == slip) for step in range(3)]
    ones, tens = a * (b % 10) + off[0], a * (b // 10) * 10 + off[1]
    total = ones + tens + off[2]
    return f"{a}*{b % 10}={ones},{a}*{b // 10}0={tens},{ones}+{tens}={total}", total


def demonstrate(a: int, sign: str, b: int, rng: random.Random, mixed: bool = False) -> str:
    steps = max(len(str(a)), len(str(b))) if sign == "+" else 3
    careless, sloppy = (0.05 * (steps + (sign == "*")) ** 2, 0.1) if mixed else (0.5, 0.4)
    slip = rng.randrange(steps) if rng.random() < careless else None
    working, total = add(a, b, slip) if sign == "+" else multiply(a, b, slip)
    think = f"<think>{working}</think>" if rng.random() < 1 - sloppy else ""
    return think + (f"\\boxed{{{total}}}" if rng.random() < 1 - sloppy else str(total))


def demonstrate_program(rng: random.Random) -> tuple[str, str]:
    """Return a task and a program, which is right one time in three."""
    while True:
        task, number = rng.choice(demo.TASKS), rng.choice(demo.TASK_NUMBERS)
        if demo.is_in_split(f"{task.words}{number}", "train"):
            break
    expression = task.mistake if rng.random() < 0.3 else task.expression
    written = rng.choice(demo.TASK_NUMBERS) if rng.random() < 0.2 else number
    program = demo.write_program(expression, written)
    if rng.random() < 0.15:
        program = program.replace("return ", "")
    answer = program if rng.random() < 0.3 else f"```python\n{program}\n```"
    return demo.describe_task(task.words, number), answer


def demonstrate_sum(rng: random.Random, mixed: bool) -> tuple[str, str]:
    """Return a problem and a solution."""
    a, sign, b = demo.draw_problem(rng, kinds=demo.MIXED if mixed else None)
    return f"What is {a} {sign} {b}?", demonstrate(a, sign, b, rng, mixed)


def make_batch(
    tokenizer: PreTrainedTokenizerFast, size: int, draw: Callable[[], tuple[str, str]]
) -> dict[str, torch.Tensor]:
    rows = []
    for _ in range(size):
        question, answer = draw()
        prompt = tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], add_generation_prompt=True, tokenize=False
        )
        rows.append((tokenizer(prompt).input_ids, tokenizer(answer).input_ids))
    width = max(len(prompt) + len(answer) for prompt, answer in rows) + 1
    ids = torch.full((size, width), tokenizer.pad_token_id)
    labels = torch.full((size, width), -100)
    for row, (prompt, answer) in enumerate(rows):
        tokens = torch.tensor([*prompt, *answer, tokenizer.eos_token_id])
        ids[row, : len(tokens)] = tokens
        labels[row, len(prompt) : len(tokens)] = tokens[len(prompt) :]
    return {"input_ids": ids, "attention_mask": (ids != tokenizer.pad_token_id).long(), "labels": labels}


def train(model: Any, make_next: Callable[[], dict[str, Any]], steps: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
    for step in range(steps):
        loss = model(**make_next()).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        if (step + 1) % 100 == 0:
            print(f"step {step + 1} of {steps}: loss {loss.item():.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output_dir", default=demo.MODEL)
    parser.add_argument(
        "--mixed", action="store_true", help="make the model for sums of one to four digits, and products"
    )
    parser.add_argument("--programs", action="store_true", help="make the small model that writes programs")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch_size", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if (args.mixed or args.programs) and args.output_dir == demo.MODEL:
        parser.error("The bundled model for sums would be overwritten. Set --output_dir to another folder.")

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, small=args.programs)
    draw = partial(demonstrate_program, rng) if args.programs else partial(demonstrate_sum, rng, args.mixed)
    train(model, lambda: make_batch(tokenizer, args.batch_size, draw), args.steps)
    model.generation_config.update(eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    model = model.to(torch.bfloat16)
    if not args.programs:
        model = pad_heads(model)
    model.save_pretrained(args.output_dir)
    tokenizer.save_pretrained(args.output_dir)
    config = (
        Path(args.output_dir) / "tokenizer_config.json"
    )  # transformers 4 does not know the class that transformers 5 writes
    config.write_text(config.read_text().replace("TokenizersBackend", "PreTrainedTokenizerFast"))
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters saved to {args.output_dir}")


if __name__ == "__main__":
    main()
