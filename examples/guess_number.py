"""Train the bundled model to guess a number in several turns: `python examples/guess_number.py`.

The model may guess three times, and the environment answers "higher", "lower" or "right". At first, the model guesses at
random. A minute or two later, it follows the answers. Every turn is in `runs/guess/report.html`.
"""

import os
import random
import sys
import time


os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"  # TRL warns that environments are experimental

from datasets import Dataset
from warm_up import call, warm_up

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, tool_errors, turns
from trl_grpo_rewards.report import write_report


QUESTION = {"role": "user", "content": "Guess 1 to 9."}
GUESSES = 3
TEXTS = [
    '<tool_call>{"name": "guess", "arguments": {"number": ',
    "higher",
    "lower",
    "right",
    "Done.",
    QUESTION["content"],
]


class Game:
    """One game. Its public methods are the tools, and `get_reward` says whether the number was found."""

    def reset(self, secret: int, **row) -> None:
        self.secret, self.guesses, self.found = secret, 0, False

    def guess(self, number: int) -> str:
        """
        Guess.

        Args:
            number: 1 to 9.
        """
        if self.found or self.guesses == GUESSES:
            raise ValueError("over")
        self.guesses += 1
        self.found = number == self.secret
        return "right" if self.found else "higher" if number < self.secret else "lower"

    def get_reward(self) -> float:
        return float(self.found)


def play(rng: random.Random) -> list[dict]:
    """Return a game in which every second guess ignores the answers."""
    game, messages = Game(), [QUESTION]
    game.reset(rng.randint(1, 9))
    low, high = 1, 9
    while not game.found and game.guesses < GUESSES:
        number = rng.randint(low, high) if rng.random() < 0.5 else rng.randint(1, 9)
        answer = game.guess(number)
        low = max(low, number + 1) if answer == "higher" else low
        high = min(high, number - 1) if answer == "lower" else high
        messages += [call("guess", number=number), {"role": "tool", "name": "guess", "content": answer}]
    return [*messages, {"role": "assistant", "content": "Done."}]


def main(output_dir: str = "runs/guess", max_steps: int = 60, warm_up_steps: int = 300) -> tuple[float, float]:
    rng, start = random.Random(0), time.monotonic()
    model, tokenizer = warm_up([play(rng) for _ in range(1000)], TEXTS, warm_up_steps, batch=16)
    print(f"The model has seen random games ({time.monotonic() - start:.0f} s).")
    games = Dataset.from_list([{"prompt": [QUESTION], "secret": 1 + place % 9} for place in range(9 * 40)])
    args = FilteredGRPOConfig(
        output_dir,
        max_steps=max_steps,
        num_generations=16,
        per_device_train_batch_size=9 * 16,
        per_device_eval_batch_size=144,
        max_completion_length=80,
        max_tool_calling_iterations=GUESSES + 1,
        learning_rate=2e-4,
        lr_scheduler_type="constant",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        logging_steps=5,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = FilteredGRPOTrainer(
        model,
        0.1 * turns(at_most=GUESSES + 1) + 0.1 * tool_errors(),
        args=args,
        train_dataset=games,
        eval_dataset=games.select(range(18)),
        processing_class=tokenizer,
        environment_factory=Game,
    )
    before = trainer.evaluate()["eval_rewards/Game/mean"]
    trainer.train()
    after = trainer.evaluate()["eval_rewards/Game/mean"]
    print(f"Games won: {before:.2f} before, {after:.2f} after ({time.monotonic() - start:.0f} s).")
    print(f"Look at the games: {write_report(output_dir, f'{output_dir}/report.html')}")
    return before, after


if __name__ == "__main__":
    main(*sys.argv[1:2])
