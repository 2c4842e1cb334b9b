"""Write the table of all rewards into the README, from their signatures and the first sentence of their docstrings.

python scripts/make_reward_table.py            # writes it
python scripts/make_reward_table.py --check    # exits with 1 where it is not current
"""

import argparse
import inspect
import re
import sys
from pathlib import Path

from trl_grpo_rewards.function_rewards import RewardFactory
from trl_grpo_rewards.registry import REGISTRY


README = Path(__file__).parents[1] / "README.md"
PLACE = re.compile(r"(<!-- rewards: .*?-->\n).*?(<!-- end of rewards -->)", re.DOTALL)
WIDEST = 90
"""Characters of a signature; of a longer one the options that must be given."""


def called(maker: RewardFactory) -> str:
    options = [str(p.replace(annotation=p.empty)) for p in maker.__signature__.parameters.values() if p.name != "name"]
    whole = f"{maker.__name__}({', '.join(options)})"
    if len(whole) <= WIDEST:
        return whole
    needed = [p.name for p in maker.__signature__.parameters.values() if p.default is p.empty]
    return f"{maker.__name__}({', '.join([*needed, '...'])})"


def paid(maker: RewardFactory) -> str:
    said = " ".join(inspect.getdoc(maker).split("\n\n")[0].split())
    return re.sub(r"\[(`\w+`)\]", r"\1", said).replace("|", "\\|")


def table() -> str:
    ours = [maker for maker in REGISTRY.values() if maker.__module__.startswith("trl_grpo_rewards.")]
    ours.sort(key=lambda maker: maker.kind == "combinator" and maker.__module__.endswith(".combining"))
    rows = [f"| `{called(maker)}` | {paid(maker)} |" for maker in ours]
    return "\n".join(["| reward | pays |", "|---|---|", *rows]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    text = README.read_text()
    current = PLACE.sub(lambda place: place[1] + table() + place[2], text)
    if not parser.parse_args().check:
        README.write_text(current)
    elif text != current:
        sys.exit("The table of rewards in the README is not current. Run python scripts/make_reward_table.py.")


if __name__ == "__main__":
    main()
