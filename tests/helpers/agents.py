"""Runs with tools and environments, in which a script takes the place of sampling only: TRL runs tools and scores turns."""

import json
import os
import random
import re


os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

from transformers import AutoTokenizer
from trl import GRPOTrainer

from helpers.reward_functions import first_summand
from trl_grpo_rewards import demo


def add(a: int, b: int) -> int:
    """
    Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


TOOL = add


def lookup(word: str) -> str:
    """
    Look up a word.

    Args:
        word: The word.
    """
    raise KeyError(word)


class Sums:
    """An environment that adds, counts the calls, and knows the right answer of its problem."""

    def __init__(self):
        self.resets = 0

    def reset(self, solution="0", **row):
        self.solution, self.calls, self.said, self.resets = int(solution), 0, None, self.resets + 1
        assert "_place" not in row

    def add(self, a: int, b: int) -> int:
        self.calls += 1
        self.said = a + b
        return self.said

    add.__doc__ = TOOL.__doc__

    def get_reward(self) -> float:
        return float(self.said == self.solution)


class Solved(Sums):
    """It supplies the prompts, and every completion is right."""

    def reset(self, **row):
        super().reset()
        return "What is 1 + 2?"

    def get_reward(self) -> float:
        return 1.0


def write_call(name, **arguments):
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def answer_turn(text: str, rng: random.Random) -> str:
    """Return what the scripted model says after this conversation."""
    a, b = map(int, re.search(r"What is (\d+) \+ (\d+)", text).groups())
    turns = text.count("<|im_start|>tool")
    if turns == 0:
        right = write_call("add", a=a, b=b)
        wrong = write_call("add", a=a, b=b + 1)
        ways = [right, wrong, write_call("lookup", word="sum"), "\\boxed{7}", right + right, f"I add.{wrong}"]
        return ways[int(6 * rng.random())]
    if turns == 1 and rng.random() < 0.3:
        return write_call("add", a=b, b=a)
    numbers = re.findall(r"<\|im_start\|>tool\n(\d+)", text)
    return f"\\boxed{{{numbers[-1] if numbers else 0}}}"


def script_turns(monkeypatch, answer=answer_turn):
    """Let every trainer of TRL sample from a script, which depends on the prompt and on the row."""

    def generate(self, prompt_ids, *args, **kwargs):
        said = []
        for row, ids in enumerate(prompt_ids):
            rng = random.Random(f"{row} {ids} {self.accelerator.process_index} {self.state.global_step}")
            said.append(answer(self._tokenizer.decode(ids), rng))
        ids = self._tokenizer(said).input_ids
        return [[*one, self._tokenizer.eos_token_id] for one in ids], None

    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", generate)


def half_by_turns(prompts, completions, **kwargs):
    """Groups of even problems are dead; the others are scored by their calls, results and texts."""
    return [
        0.7 if first_summand(prompt) % 2 == 0 else len(completion) + 0.1 * str(completion).count("error") + index % 3
        for index, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
    ]


TOKENIZER = AutoTokenizer.from_pretrained(demo.MODEL)
TOKENIZER.chat_template = TOKENIZER.chat_template.partition("{% endif %}")[
    2
]  # the script need not read 650 tokens of tools

TURNS = {"max_completion_length": 256, "gradient_accumulation_steps": 1, "processing_class": TOKENIZER}
"""Options and arguments of a run with room for a few turns."""
