"""Draw a run: its reward in training and on held-out problems, and the tokens of its updates beside those of TRL's.

    python scripts/run_picture.py runs/smollm2-sums docs/real_model.png

Tokens are counted in each step of this run, as the log has them. TRL computes every completion of a step, padded to the
longest one.
"""

import argparse
import json
from itertools import accumulate
from pathlib import Path


TOKENS = {
    "groups/tokens_padded": ("TRL", "#444444"),
    "groups/tokens_computed": ("this trainer", "#1f6fd0"),
    "groups/tokens_needed": ("needed for the gradient", "#d08a00"),
}
"""Name and color of each sum of tokens."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    rows = [json.loads(line) for line in (options.run / "log.jsonl").read_text().splitlines()]
    steps = [row for row in rows if "groups/tokens_needed" in row]
    held_out = [row for row in rows if "eval_reward" in row]

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
    places = [row["step"] for row in steps]
    left.plot(places, [row["reward"] for row in steps], color="#9db8e0", label="in training")
    values = [row["eval_reward"] for row in held_out]
    left.plot([row["step"] for row in held_out], values, "o", color="#1f6fd0", label="held-out problems")
    for row, value in zip(held_out, values, strict=True):
        left.annotate(f"{value:.2f}", (row["step"], value), textcoords="offset points", xytext=(8, -4))
    left.set(title="mean reward", ylim=(0, 1.1), xlim=(-1, 1.1 * places[-1]))
    for name, (title, color) in TOKENS.items():
        total = [count / 1000 for count in accumulate(row[name] for row in steps)]
        right.plot(places, total, color=color, label=title, linestyle=":" if "needed" in name else "-")
        if "needed" not in name:
            right.annotate(f"{total[-1]:.0f}", (places[-1], total[-1]), textcoords="offset points", xytext=(4, -3))
    right.set(title="tokens computed in the updates, in thousands", ylim=(0, None), xlim=(-1, 1.1 * places[-1]))
    for axes in (left, right):
        axes.set_xlabel("step")
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(options.picture, dpi=110)


if __name__ == "__main__":
    main()
