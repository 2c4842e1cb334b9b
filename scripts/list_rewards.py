"""Write the lists of all rewards: the table in the docs, the pages of the site, the numbers in the README, and the stub.

python scripts/list_rewards.py            # writes them, from signatures and docstrings
python scripts/list_rewards.py --check    # exits with 1 if one of them is out of date
"""

import argparse
import inspect
import re
import sys
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import trl_grpo_rewards
from trl_grpo_rewards import boxed, demo
from trl_grpo_rewards.checks import attacks
from trl_grpo_rewards.function_rewards import RewardFactory
from trl_grpo_rewards.options import strip_annotation
from trl_grpo_rewards.registry import REGISTRY


ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "rewards.md"
TABLE = re.compile(r"(<!-- rewards: .*?-->\n).*?(<!-- end of rewards -->)", re.DOTALL)
SITE = ROOT / "zensical.toml"
PAGES = re.compile(r"(# rewards: .*?\n).*?(  # end of rewards)", re.DOTALL)
STUB = Path(trl_grpo_rewards.__file__).with_suffix(".pyi")

HEADER = """\
# Written by scripts/list_rewards.py from the signatures of the rewards.
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import checks as checks, demo as demo, records as records, rewards as rewards
from .expressions import Reward as Reward
from .options import Column as Column, column as column
from .parsing import parse as parse
from .registry import reward as reward
from .scores import ScoreTable as ScoreTable
from .training import FilteredGRPOConfig as FilteredGRPOConfig, FilteredGRPOTrainer as FilteredGRPOTrainer, StopOnWarning as StopOnWarning

"""

MAX_SIGNATURE = 110
"""Maximum number of characters of a signature. A longer one is shortened to its required options."""


def format_signature(factory: RewardFactory) -> str:
    options = [
        str(p.replace(annotation=p.empty)) for p in factory.__signature__.parameters.values() if p.name != "name"
    ]
    whole = f"{factory.__name__}({', '.join(options)})"
    if len(whole) <= MAX_SIGNATURE:
        return whole
    required = [p.name for p in factory.__signature__.parameters.values() if p.default is p.empty]
    return f"{factory.__name__}({', '.join([*required, '...'])})"


def summarize(factory: RewardFactory) -> str:
    summary = " ".join(inspect.getdoc(factory).split("\n\n")[0].split())
    return re.sub(r"\[(`\w+`)\]", r"\1", summary).replace("|", "\\|")


def list_rewards() -> list[RewardFactory]:
    """Return the rewards of this package."""
    assert trl_grpo_rewards.rewards.__all__  # importing the library registers its rewards
    return [factory for factory in REGISTRY.values() if factory.__module__.startswith("trl_grpo_rewards.")]


def count_attacks() -> int:
    """Return how many kinds of worthless completions `check` writes for the bundled problems."""
    return len(set().union(*(attacks(boxed(), row) for row in demo.arithmetic(size=64))))


def make_table() -> str:
    rows = [f"| `{format_signature(factory)}` | {summarize(factory)} |" for factory in list_rewards()]
    return "\n".join(["| reward | pays |", "|---|---|", *rows]) + "\n"


def make_navigation() -> str:
    """Return the rewards as entries of the site's navigation, by topic."""
    topics: dict[str, list[str]] = {}
    for factory in list_rewards():
        topics.setdefault(factory.__module__.split(".")[-1].capitalize(), []).append(factory.__name__)
    return "".join(
        f'  {{ "{topic}" = [\n'
        + "".join(f'    {{ "{name}" = "rewards/{name}.md" }},\n' for name in names)
        + "  ] },\n"
        for topic, names in topics.items()
    )


def format_type(annotation: Any) -> str:
    """Return an annotation as source. A tuple or dict among the options may be given as any sequence or mapping."""
    annotation = strip_annotation(annotation)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " | ".join(map(format_type, inner))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
    if origin is tuple and inner[-1] is ...:
        return f"Sequence[{format_type(inner[0])}]"
    if origin is not None:
        name = {list: "Sequence", dict: "Mapping"}.get(origin, origin.__name__)
        return f"{name}[{', '.join(map(format_type, inner))}]"
    return {NoneType: "None", Any: "Any"}.get(annotation) or annotation.__name__


def format_parameter(parameter: inspect.Parameter) -> str:
    text = f"{'*' * (parameter.kind is parameter.VAR_POSITIONAL)}{parameter.name}: {format_type(parameter.annotation)}"
    return text if parameter.default is parameter.empty else f"{text} = {parameter.default!r}"


def format_function(name: str, factory: RewardFactory) -> str:
    """Return the reward as a function of its options."""
    parameters = [*inspect.signature(factory).parameters.values()]
    parts = [format_parameter(parameter) for parameter in parameters]
    if not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        parts.insert([parameter.kind for parameter in parameters].index(inspect.Parameter.KEYWORD_ONLY), "*")
    return f"def {name}({', '.join(parts)}) -> Reward: ...\n"


def make_stub() -> str:
    found = {
        name: getattr(trl_grpo_rewards, name) for name in trl_grpo_rewards.__all__ if not name.startswith("Filtered")
    }
    functions = [format_function(name, value) for name, value in found.items() if isinstance(value, RewardFactory)]
    return HEADER + "".join(functions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only check that all are up to date")
    check = parser.parse_args().check
    table = TABLE.sub(lambda match: match[1] + make_table() + match[2], PAGE.read_text())
    site = PAGES.sub(lambda match: match[1] + make_navigation() + match[2], SITE.read_text())
    readme = re.sub(r"There are \d+ rewards", f"There are {len(list_rewards())} rewards", README.read_text())
    readme = re.sub(r"and \d+ kinds of worthless", f"and {count_attacks()} kinds of worthless", readme)
    for file, text in ((PAGE, table), (SITE, site), (README, readme), (STUB, make_stub())):
        if not check:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            sys.exit(f"{file.name} is out of date. Run python scripts/list_rewards.py.")


if __name__ == "__main__":
    main()
