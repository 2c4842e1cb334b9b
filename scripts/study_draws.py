"""Compare rules for how often a prompt is drawn, in made worlds where answering a group teaches something.

    python scripts/study_draws.py --seeds 6

A world has 2,048 prompts of 24 wordings. The log-odds of a prompt's pass rate are the skill in its wording, which grows by
the signal of each group with this wording, minus its difficulty. In the world `wordings`, difficulties depend on the
wording; in `nothing`, they do not. Completions are longer for difficult prompts. The table has the tokens to reach the
accuracy that uniform drawing reaches after 60 % of the run, relative to uniform drawing, the accuracy after as many
tokens as a whole uniform run has, and the share of live groups in the first epoch. All are means over seeds.
"""

import argparse
import math
from collections.abc import Callable

import datasets
import numpy as np

from trl_grpo_rewards.training.foresight import Foresight
from trl_grpo_rewards.training.prompt_features import PromptFeatures
from trl_grpo_rewards.training.prompt_stream import PromptStream
from trl_grpo_rewards.training.selective_stream import MAX_SKIPS, SelectiveStream


GROUP, BATCH, SIZE, KINDS = 8, 16, 2048, 24

SIGNALS = np.array([2 * math.sqrt(right * (GROUP - right)) / GROUP for right in range(GROUP + 1)])
"""Mean size of the advantages of a group, by its number of right completions."""


class World:
    """Prompts, and a model that learns from them."""

    def __init__(self, by: str, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.kinds, base = rng.integers(KINDS, size=SIZE), rng.normal(0.5, 2.5, KINDS)
        if by == "wordings":
            self.difficulty = base[self.kinds] + rng.normal(0, 1, SIZE)
        else:
            self.difficulty = rng.normal(0.5, 2.7, SIZE)
        wordings = rng.integers(300, size=(KINDS, 6))
        words = [[*wordings[kind], *rng.integers(300, size=4)] for kind in self.kinds]
        self.prompts = datasets.Dataset.from_dict({"prompt": [" ".join(map(name_word, some)) for some in words]})
        self.length = np.exp(rng.normal(0, 0.3, SIZE) + 0.25 * (self.difficulty - 0.5))
        self.skill, self.memory, self.tokens = np.zeros(KINDS), np.zeros(SIZE), 0.0

    def answer(self, rows: list[int]) -> np.ndarray:
        odds = self.skill[self.kinds[rows]] + self.memory[rows] - self.difficulty[rows]
        self.tokens += GROUP * float(self.length[rows].sum())
        return self.rng.binomial(GROUP, 1 / (1 + np.exp(-odds)))

    def train(self, rows: list[int], right: np.ndarray) -> None:
        for row, signal in zip(rows, SIGNALS[right].tolist(), strict=True):
            self.skill += 0.0015 * signal
            self.skill[self.kinds[row]] += 0.018 * signal
            self.memory[row] += 0.3 * signal

    def accuracy(self) -> float:
        """Return the accuracy on new prompts of the same kinds."""
        return float(np.mean(1 / (1 + np.exp(self.difficulty - self.skill[self.kinds]))))


def name_word(number: int) -> str:
    return "".join("bcdfghjklmnprstvwz"[part] + "aeiou"[part % 5] for part in divmod(int(number), 18))


class Ruled(SelectiveStream):
    """A stream with another rule."""

    def __init__(self, world: World, seed: int, rule: Callable[["Ruled", int], float]) -> None:
        super().__init__(SIZE, seed, True, GROUP, Foresight(PromptFeatures(world.prompts, ["prompt"])))
        self.world, self.rule, self.rng = world, rule, np.random.default_rng(seed)

    def _compute_chance(self, row: int) -> float:
        chance = super()._compute_chance(row)
        is_free = self.passed_over[row] < MAX_SKIPS and (self._is_known(row) or self.foresight.source != "pool")
        return self.rule(self, row) if is_free else chance

    def draw_rate(self, row: int) -> float:
        """Return a pass rate drawn from what is believed of the prompt."""
        shapes, weights = self._find_shapes(row)
        return float(self.rng.beta(*np.maximum(shapes[self.rng.choice(len(shapes), p=weights)], 1e-3)))

    def expect_signal(self, row: int) -> float:
        """Return the expected signal of the next group."""
        shapes, weights = self._find_shapes(row)
        return sum(weight * float(chances(*shape) @ SIGNALS) for shape, weight in zip(shapes, weights, strict=True))


def chances(right: float, wrong: float) -> np.ndarray:
    """Return the probability of each number of right completions for p ~ Beta(right, wrong)."""
    logs = [
        math.log(math.comb(GROUP, k)) + math.lgamma(right + k) + math.lgamma(wrong + GROUP - k)
        for k in range(GROUP + 1)
    ]
    scale = math.lgamma(right) + math.lgamma(wrong) - math.lgamma(right + wrong) + math.lgamma(right + wrong + GROUP)
    return np.exp(np.array(logs) - scale)


RULES: dict[str, Callable[[Ruled, int], float] | None] = {
    "uniform": None,
    "P(live)": lambda stream, row: stream.predict_live(row),
    "P(live)^2": lambda stream, row: stream.predict_live(row) ** 2,
    "P(live)^3": lambda stream, row: stream.predict_live(row) ** 3,
    "P(live)^2, at least 0.1": lambda stream, row: max(0.1, stream.predict_live(row) ** 2),
    "Thompson sampling": lambda stream, row: 4 * (rate := stream.draw_rate(row)) * (1 - rate),
    "expected signal": lambda stream, row: stream.expect_signal(row),
    "expected signal^2": lambda stream, row: stream.expect_signal(row) ** 2,
    "expected signal per token": lambda stream, row: min(1.0, stream.expect_signal(row) / stream.world.length[row]),
}


def run(by: str, rule: str, seed: int, steps: int) -> tuple[list[tuple[float, float]], float]:
    """Return tokens and accuracy after each step, and the share of live groups in the first epoch."""
    world = World(by, seed)
    stream = PromptStream(SIZE, seed) if RULES[rule] is None else Ruled(world, seed, RULES[rule])
    course, live = [(0.0, world.accuracy())], []
    for _ in range(steps):
        rows = stream.draw(BATCH)
        right = world.answer(rows)
        if isinstance(stream, SelectiveStream):
            stream.learn(rows, right.tolist(), [GROUP] * BATCH)
        world.train(rows, right)
        live.append(float(np.mean(SIGNALS[right] > 0)))
        course.append((world.tokens, world.accuracy()))
    return course, float(np.mean(live[: SIZE // BATCH]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=256)
    args = parser.parse_args()
    for by in ("wordings", "nothing"):
        print(f"\n| {by} | tokens | accuracy | live, first epoch |\n|---|---|---|---|")
        base = {}
        for rule in RULES:
            rows = []
            for seed in range(args.seeds):
                course, live = run(by, rule, seed, args.steps)
                tokens, accuracies = zip(*course, strict=True)
                base.setdefault(seed, (tokens, accuracies))
                place = int(0.6 * args.steps)
                reached = np.interp(base[seed][1][place], accuracies, tokens, right=math.inf)
                rows.append((reached / base[seed][0][place], np.interp(base[seed][0][-1], tokens, accuracies), live))
            print(f"| {rule} | " + " | ".join(f"{value:.3f}" for value in np.mean(rows, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
