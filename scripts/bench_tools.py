"""Compare `tool_calls` with the checker of BFCL and with the tool reward of NeMo Gym, on the questions of BFCL.

git clone https://github.com/ShishirPatil/gorilla && git clone https://github.com/NVIDIA-NeMo/Gym
python scripts/bench_tools.py gorilla/berkeley-function-call-leaderboard Gym

The completions are the expected calls and variants of them: other order, types, case, values and names, arguments and
calls that are left out, added or repeated. The script lists for each variant how often the verdicts agree.
"""

import argparse
import copy
import json
import sys
import time
import types
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trl_grpo_rewards import tool_calls
from trl_grpo_rewards.tools.call_reading import write_expected_calls


KINDS = ["simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple", "live_parallel"]
Calls = list[dict[str, Any]]


def load_bfcl(folder: Path) -> Any:
    """Import BFCL's checker. It asks the settings of every model only whether names contain underscores for dots."""
    sys.path.insert(0, str(folder))
    settings = types.ModuleType("bfcl_eval.constants.model_config")
    settings.MODEL_CONFIG_MAPPING = defaultdict(lambda: types.SimpleNamespace(underscore_to_dot=False))
    sys.modules[settings.__name__] = settings
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    return lambda tools, made, expected, kind: ast_checker(tools, made, expected, Language.PYTHON, kind, "any")[
        "valid"
    ]


def load_gym(folder: Path) -> Any:
    """Import NeMo Gym's comparison. A similarity of 0.5, its maximum, requires that texts have the same words."""
    sys.path.insert(0, str(folder / "resources_servers" / "single_step_tool_use_with_argument_comparison"))
    from common.verification_utils import ActionComparator, FunctionCallAction, ToolCallComparatorConfig

    config = {"word_count_similarity_threshold": 0.5, "parallel_tool_call_rewarding": True, "allow_subset": True}
    config |= {"allow_superset": True, "parallel_tool_call_reward_mode": "f1"}
    comparator = ActionComparator(config=ToolCallComparatorConfig(**config))

    def compare(expected: Calls, made: Calls) -> float:
        actions = [
            [
                FunctionCallAction(type="function_call", name=one["name"], arguments=json.dumps(one["arguments"]))
                for one in calls
            ]
            for calls in (expected, made)
        ]
        return comparator.compare_tool_calls(*actions).reward if made else 0.0

    return compare


def read_lines(path: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def read_calls(text: str) -> Calls:
    return [json.loads(line.removeprefix("<tool_call>").removesuffix("</tool_call>")) for line in text.splitlines()]


def vary(calls: Calls) -> Iterator[tuple[str, Calls]]:
    """Yield variants of the expected calls, by what was changed."""
    yield "as expected", calls
    yield "other order", calls[::-1]
    yield "last call left out", calls[:-1]
    yield "a call repeated", [*calls, calls[0]]
    yield "another name", [{**calls[0], "name": calls[0]["name"] + "_now"}, *calls[1:]]
    yield "an argument added", [change(calls[0], extra_argument=1), *calls[1:]]
    for name, value in calls[0]["arguments"].items():
        without = copy.deepcopy(calls)
        del without[0]["arguments"][name]
        yield "an argument left out", without
        for what, changed in vary_value(value):
            yield what, [change(calls[0], **{name: changed}), *calls[1:]]


def change(call: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return {**call, "arguments": {**call["arguments"], **arguments}}


def vary_value(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool):
        yield "other truth value", not value
    elif isinstance(value, int | float):
        yield "number as text", str(value)
        yield "number changed", value + 1
        if isinstance(value, int):
            yield "integer as float", float(value)
    elif isinstance(value, str) and value:
        yield "text in capitals", value.upper()
        yield "text with commas", value.replace(" ", ", ")
        yield "text changed", value + " x"
    elif isinstance(value, list):
        yield "list reversed", value[::-1]
        yield "list shortened", value[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bfcl", type=Path, help="folder that contains bfcl_eval")
    parser.add_argument("gym", type=Path, help="checkout of NeMo Gym")
    parser.add_argument("--show", type=int, default=0, help="number of disagreements of each variant to print")
    options = parser.parse_args()
    check_bfcl, compare_gym = load_bfcl(options.bfcl), load_gym(options.gym)
    exact, f1 = tool_calls(compare={"*": "text"}), tool_calls(score="f1")
    counts: dict[str, Counter] = defaultdict(Counter)
    seconds, shown = Counter(), Counter()
    for kind in KINDS:
        data = options.bfcl / "bfcl_eval" / "data"
        questions = read_lines(data / f"BFCL_v4_{kind}.json")
        for name, row in read_lines(data / "possible_answer" / f"BFCL_v4_{kind}.json").items():
            expected = row["ground_truth"]
            right = read_calls(write_expected_calls(expected) or "")
            for what, made in vary(right):
                text = "\n".join(f"<tool_call>{json.dumps(one)}</tool_call>" for one in made)
                start = time.perf_counter()
                (ours,) = exact(completions=[text], tool_calls=[expected])
                seconds["ours"] += time.perf_counter() - start
                start = time.perf_counter()
                theirs = check_bfcl(
                    questions[name]["function"],
                    [{one["name"]: one["arguments"]} for one in made],
                    expected,
                    kind,
                )
                seconds["BFCL"] += time.perf_counter() - start
                (share,) = f1(completions=[text], tool_calls=[right])
                agree = bool(ours) == theirs
                counts[what].update(
                    rows=1, bfcl=agree, theirs=theirs, ours=int(ours), gym=abs(share - compare_gym(right, made)) < 1e-9
                )
                if not agree and shown[what] < options.show:
                    shown[what] += 1
                    print(f"{what}: ours {ours}, BFCL {theirs}\n  expected {expected}\n  made     {made}")
    print("| variant | completions | right for BFCL | right for ours | agreement with BFCL | equal F1 in NeMo Gym |")
    print("|---|---|---|---|---|---|")
    total: Counter = sum(counts.values(), Counter())
    for what, count in [*counts.items(), ("all", total)]:
        rows = count["rows"]
        print(
            f"| {what} | {rows:,} | {count['theirs']:,} | {count['ours']:,} | {count['bfcl'] / rows:.2%} | "
            f"{count['gym'] / rows:.2%} |"
        )
    print({name: f"{1e6 * spent / total['rows']:.0f} us each" for name, spent in seconds.items()})


if __name__ == "__main__":
    main()
