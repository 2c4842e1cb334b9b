"""Readers of public sets of tool calls and of responses to instructions."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .rows import Row, read_lines


BFCL = "2024-08-11"  # the newest day for which the repository has results and scores

CATEGORIES = ("simple", "multiple_function", "parallel_function", "parallel_multiple_function")


def read_scores(file: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of one category that the official checker refused, by id. The first line is a summary."""
    return {row["prompt"]["id"]: row for row in read_lines(file)[1:]}


def read_bfcl(folder: Path) -> Iterator[Row]:
    """Yield the calls of models that write structured calls or `<tool_call>`, with the official checker's verdict."""
    for category in CATEGORIES:
        scores = {file.parent.name: read_scores(file) for file in folder.glob(f"{BFCL}/score/*/{category}_score.json")}
        prompts = {id: row for refused in scores.values() for id, row in refused.items() if has_calls(row)}
        for model, refused in sorted(scores.items()):
            file = folder / f"{BFCL}/result/{model}/gorilla_openfunctions_v1_test_{category}_result.json"
            rows = read_lines(file)
            if sum(isinstance(row["result"], list) or "<tool_call>" in row["result"] for row in rows) < len(rows) / 2:
                continue  # the model writes calls in another form, which TRL does not make
            for row in rows:
                if row["id"] in prompts:
                    yield make_calls(
                        f"{model}/{row['id']}", row["result"], row["id"] not in refused, prompts[row["id"]]
                    )


def has_calls(row: dict[str, Any]) -> bool:
    """Return whether a row has expected calls. One row of BFCL has a call that is broken."""
    given = row.get("possible_answer", "")
    calls = given if isinstance(given, list) else [given]
    return all(isinstance(one, dict) and all(isinstance(each, dict) for each in one.values()) for one in calls)


def make_calls(id: str, result: Any, right: bool, prompt: dict[str, Any]) -> Row:
    """Return the row of a model's calls. Names have underscores for dots, as servers of models require."""
    functions = prompt["prompt"]["function"]
    names = {one["name"] for one in (functions if isinstance(functions, list) else [functions])}
    given = prompt["possible_answer"]
    expected = []
    for one in given if isinstance(given, list) else [given]:
        for name, arguments in one.items():
            unnumbered = re.sub(r"[_ ]\d+$", "", name)  # a function that is called several times is numbered
            name = next(iter(names)) if len(names) == 1 else name if name in names else unnumbered
            expected.append({name.replace(".", "_"): arguments})
    if isinstance(result, list) and all(isinstance(call, dict) for call in result):
        made = [(name.replace(".", "_"), arguments) for call in result for name, arguments in call.items()]
        calls = [{"type": "function", "function": {"name": name, "arguments": value}} for name, value in made]
        completion: Any = [{"role": "assistant", "content": "", "tool_calls": calls}]
        answer = [{"name": name, "arguments": read_arguments(value)} for name, value in made]
    else:
        text = str(result)
        for name in names:
            text = text.replace(f'"{name}"', f'"{name.replace(".", "_")}"')
        completion = [{"role": "assistant", "content": text}]
        answer = [read_arguments(call) for call in re.findall(r"<tool_call>(.*?)</tool_call>", text, re.DOTALL)]
    first = [
        {"name": name, "arguments": {key: values[0] for key, values in arguments.items() if "" not in values}}
        for call in expected
        for name, arguments in call.items()
    ]
    columns = {"tool_calls": json.dumps(expected)}
    return Row(id, completion, right, json.dumps(first), json.dumps(answer), columns)


def read_arguments(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def read_api_bank(folder: Path) -> Iterator[Row]:
    """Yield the expected calls of API-Bank, as a model would write them."""
    for level in (1, 2, 3):
        file = folder / f"benchmarks/API-Bank/level-{level}-api_processed.json"
        for index, one in enumerate(json.loads(file.read_text("utf-8"))):
            given = one["answer"] if isinstance(one["answer"], list) else [one["answer"]]
            calls = [{"name": call["name"], "arguments": call["parameters"]} for call in given]
            text = "\n".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls)
            gold = json.dumps(calls)
            yield Row(f"level-{level}/{index}", text, True, gold, gold, {"tool_calls": gold})


def read_constraints(folder: Path, prompts: str, verdicts: str) -> Iterator[Row]:
    """Yield responses with the official verdict on each constraint, one row for each."""
    arguments = {one["prompt"].strip(): one["kwargs"] for one in read_lines(folder / prompts)}
    for index, one in enumerate(read_lines(folder / verdicts)):
        given = arguments.get(one["prompt"].strip())
        if given is None:
            continue
        verdicted = zip(one["instruction_id_list"], given, one["follow_instruction_list"], strict=True)
        for number, (name, options, right) in enumerate(verdicted):
            options = {key: value for key, value in options.items() if value is not None}
            columns = {"instruction_id_list": [name], "kwargs": [options], "prompts": one["prompt"]}
            gold = f"{name} {json.dumps(options) if options else ''}"
            yield Row(f"{index}/{number}", one["response"], right, gold, one["response"], columns)
