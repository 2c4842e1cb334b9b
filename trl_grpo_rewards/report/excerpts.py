"""Groups with their texts: samples of the newest, the most notable, and of all steps, and a completion before and after."""

import heapq
import json
import math
import statistics
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..tools.calls import is_error
from .trends import find_outcome_reward, keep_finite, read_outcome_scores


MAX_BYTES = 4 << 20  # maximum size in bytes of each of the three samples on a page
MAX_TEXT = 8000  # maximum number of characters of one text. The middle of a longer text is left out.


class BoundedHeap:
    """The items with the highest ranks, within a number of bytes."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.size = max_bytes, 0
        self.heap: list[tuple[Any, tuple[int, int], str]] = []

    def push(self, rank: Any, place: tuple[int, int], text: str) -> None:
        heapq.heappush(self.heap, (rank, place, text))
        self.size += len(text)
        while self.size > self.max_bytes:
            self.size -= len(heapq.heappop(self.heap)[2])


class Excerpts:
    """The three samples of a run's groups. A group in several of them is shown once. All runs of a page share its size."""

    def __init__(self, runs: int = 1) -> None:
        self.newest, self.notable, self.spread = (BoundedHeap(MAX_BYTES // runs) for _ in range(3))
        self.count = 0

    def add(self, record: dict[str, Any]) -> None:
        place = (record["step"], record.get("group", self.count))
        text = encode_json(select_fields(record))
        self.newest.push(place, place, text)
        self.notable.push(rank_notability(record), place, text)
        self.spread.push(zlib.crc32(repr(place).encode()), place, text)
        self.count += 1

    def to_json(self) -> list[str]:
        """Return each sampled group as JSON, in the order of steps."""
        samples = (self.newest, self.notable, self.spread)
        return [text for _, text in sorted({place: text for one in samples for _, place, text in one.heap}.items())]


class Examples:
    """The groups of the first and of the last step, and the latest groups with the prompts of the first step."""

    def __init__(self) -> None:
        self.first: list[dict[str, Any]] = []
        self.last: list[dict[str, Any]] = []
        self.latest: dict[str, dict[str, Any]] = {}

    def add(self, record: dict[str, Any]) -> None:
        prompt_id = record.get("prompt_id")
        if not self.first or record["step"] == self.first[0]["step"]:
            self.first.append(record)
            self.latest |= {prompt_id: record} if prompt_id else {}
        elif prompt_id in self.latest:
            self.latest[prompt_id] = record
        if self.last and record["step"] > self.last[0]["step"]:
            self.last = []
        self.last.append(record)

    def describe(self) -> list[dict[str, Any]]:
        """Return both completions, or an empty list. If a prompt of the first step was sampled again, both answer it."""
        if not self.first or self.first[0]["step"] == self.last[0]["step"]:
            return []
        middle = (self.first[0]["step"] + self.last[0]["step"]) / 2
        again = max(self.latest.values(), key=lambda record: record["step"], default={"step": 0})
        ends = [self.first, self.last]
        if again["step"] > middle:
            ends = [[one for one in self.first if one.get("prompt_id") == again["prompt_id"]], [again]]
        found = [example for records in ends if (example := describe_typical(records))]
        return found if len(found) == 2 else []


def describe_typical(records: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the completion whose total is closest to the mean of its group, of the group closest to the mean of all."""
    told = [one for one in records if one.get("completions") and keep_finite(one.get("total"))]
    if not told:
        return None
    group = told[find_typical([statistics.fmean(keep_finite(one["total"])) for one in told])]
    place = find_typical(group["total"])
    return {
        "step": group["step"],
        "group": group.get("group", 0),
        "prompt": to_turns(group.get("prompt")),
        "completion": to_turns(group["completions"][place]),
        "scores": [[name, scores[place]] for name, scores in group["rewards"].items()],
        "total": group["total"][place],
    }


def find_typical(values: Sequence[float | None]) -> int:
    """Return the place of the finite number that is closest to the mean."""
    known = {place: value for place, value in enumerate(values) if value is not None and keep_finite([value])}
    mean = statistics.fmean(known.values())
    return min(known, key=lambda place: abs(known[place] - mean))


def encode_json(value: Any) -> str:
    """Return the value as JSON that is safe within a page: ASCII, and unable to open or close an element."""
    text = json.dumps(round_numbers(value), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def round_numbers(value: Any) -> Any:
    """Return the value with all numbers in five digits, and None in place of NaN and infinity."""
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: round_numbers(item) for key, item in value.items()}
    return [round_numbers(item) for item in value] if isinstance(value, (list, tuple)) else value


def rank_notability(record: dict[str, Any]) -> tuple[bool, float]:
    """Return whether a wrong completion has a higher total than a right one, and the spread of totals."""
    pairs = list(zip(record.get("total") or [], read_outcome_scores(record), strict=False))
    right = [total for total, outcome in pairs if total is not None and outcome is not None and outcome >= 1]
    wrong = [total for total, outcome in pairs if total is not None and outcome is not None and outcome < 1]
    return bool(right and wrong) and max(wrong) > min(right), record.get("spread") or 0.0


def select_fields(record: dict[str, Any]) -> dict[str, Any]:
    weights = record.get("weights") or {}
    columns = {**(record.get("columns") or {}), **(record.get("row_columns") or {})}.items()
    return {
        "step": record["step"],
        "group": record.get("group", 0),
        "right": find_outcome_reward(record),
        **{name: record.get(name) for name in ("prompt_id", "outcome", "mean", "spread", "duplicates")},
        **{name: record.get(name) or [] for name in ("total", "advantages", "lengths", "truncated")},
        "rewards": [[name, weights.get(name, 1.0), scores] for name, scores in record["rewards"].items()],
        "columns": [[name, shorten_middle(to_text(value), MAX_TEXT // 4)] for name, value in columns],
        "logged": [
            [name, ["" if value is None else shorten_middle(to_text(value), MAX_TEXT // 4) for value in values]]
            for name, values in (record.get("logged") or {}).items()
        ],
        "prompt": to_turns(record.get("prompt")),
        "input": shorten_middle(record.get("model_input") or "", MAX_TEXT),
        "completions": [to_turns(completion) for completion in record.get("completions") or []],
    }


def to_turns(value: Any) -> list[list[str]]:
    """Return what happens in a conversation: the role (or call, result, error; none of a plain text), the text, the name of a tool."""
    messages = value if isinstance(value, list) else [] if value is None else [value]
    turns = [turn for message in messages for turn in split_message(message)]
    limit = max(MAX_TEXT // max(len(turns), 1), 200)
    return [
        [role, shorten_middle(text, limit), *(shorten_middle(one, 200) for one in name)] for role, text, *name in turns
    ]


def split_message(message: Any) -> Iterator[tuple[str, ...]]:
    if not isinstance(message, Mapping):
        yield "", to_text(message)
        return
    role, text = str(message.get("role") or ""), join_parts(message.get("content"))
    if role == "tool":
        yield "error" if is_error(message, text) else "result", text, str(message.get("name") or "")
        return
    calls = message.get("tool_calls") or []
    calls = calls if isinstance(calls, list) else [calls]
    rest = {key: one for key, one in message.items() if key not in ("role", "content", "tool_calls") and one}
    text = "\n".join(filter(None, [text, to_text(rest) if rest else ""]))
    if text or not calls:
        yield role, text
    for call in calls:
        function = call.get("function", call) if isinstance(call, Mapping) else call
        if isinstance(function, Mapping):
            yield "call", to_text(function.get("arguments") or {}), str(function.get("name") or "")
        else:
            yield "call", to_text(call), ""


def join_parts(content: Any) -> str:
    """Return the text of a message's content, with the type of each part that is not text."""
    if not isinstance(content, list):
        return "" if content is None else to_text(content)
    parts = [part if isinstance(part, Mapping) else {"text": to_text(part)} for part in content]
    return "".join(to_text(part["text"]) if part.get("text") else f"[{part.get('type', 'part')}]" for part in parts)


def to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def shorten_middle(text: str, limit: int) -> str:
    """Return the text, or its beginning and its end if it is longer than the limit."""
    if len(text) <= limit:
        return text
    omission = f"\n… {len(text) - limit:,} characters left out …\n"
    return text[: limit * 3 // 4] + omission + text[len(text) - limit // 4 :]
