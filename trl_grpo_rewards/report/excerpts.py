"""Groups with their texts, as many as a page can carry: the newest, the most telling, and some of all steps."""

import heapq
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

from .trends import outcomes, scores


BUDGET = 4 << 20
"""Bytes of each of the three samples."""

TEXT = 8000
"""Characters of one text at most; of a longer one the middle is left out."""


class Pool:
    """What ranks highest, within a number of bytes."""

    def __init__(self, budget: int) -> None:
        self.budget, self.size = budget, 0
        self.heap: list[tuple[Any, tuple[int, int], str]] = []

    def offer(self, rank: Any, place: tuple[int, int], text: str) -> None:
        heapq.heappush(self.heap, (rank, place, text))
        self.size += len(text)
        while self.size > self.budget:
            self.size -= len(heapq.heappop(self.heap)[2])


class Excerpts:
    """Three samples of the groups of a run; what is in several of them is kept once."""

    def __init__(self) -> None:
        self.newest, self.telling, self.scattered = Pool(BUDGET), Pool(BUDGET), Pool(BUDGET)
        self.count, self.shortened = 0, False

    def add(self, record: dict[str, Any]) -> None:
        place = (record["step"], record.get("group", self.count))
        text = embedded(shown(record))
        self.newest.offer(place, place, text)
        self.telling.offer(tellingness(record), place, text)
        self.scattered.offer(zlib.crc32(repr(place).encode()), place, text)
        self.count += 1

    def kept(self) -> list[str]:
        """The groups that are kept, in the order of their steps."""
        pools = (self.newest, self.telling, self.scattered)
        return [text for _, text in sorted({place: text for pool in pools for _, place, text in pool.heap}.items())]


def embedded(value: Any) -> str:
    """The value as JSON that is safe within a page: in ASCII, and without what could end or open an element."""
    text = json.dumps(finite(value), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def finite(value: Any) -> Any:
    """The value with numbers as a page shows them: in few digits, and None for those that are none."""
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def tellingness(record: dict[str, Any]) -> tuple[bool, float]:
    """First groups in which a wrong completion is paid more than a right one, then by how far rewards are apart."""
    pairs = [(total, one) for total, one in zip(record.get("total") or [], outcomes(record), strict=False)]
    right = [total for total, one in pairs if total is not None and one is not None and one >= 1]
    wrong = [total for total, one in pairs if total is not None and one is not None and one < 1]
    return bool(right and wrong) and max(wrong) > min(right), record.get("spread") or 0.0


def shown(record: dict[str, Any]) -> dict[str, Any]:
    """What the page has of a group."""
    weights = record.get("weights") or {}
    columns = [
        (name, value) for part in ("columns", "row_columns") for name, value in (record.get(part) or {}).items()
    ]
    return {
        "step": record["step"],
        "group": record.get("group", 0),
        "prompt_id": record.get("prompt_id"),
        "outcome": record.get("outcome"),
        "mean": record.get("mean"),
        "spread": record.get("spread"),
        "rewards": [[name, weights.get(name, 1.0), values] for name, values in scores(record).items()],
        "total": record.get("total") or [],
        "advantages": record.get("advantages") or [],
        "lengths": record.get("lengths") or [],
        "truncated": record.get("truncated") or [],
        "duplicates": record.get("duplicates"),
        "columns": [[name, cut(plain(value), TEXT // 4)] for name, value in columns],
        "prompt": turns(record.get("prompt")),
        "completions": [turns(completion) for completion in record.get("completions") or []],
    }


def turns(value: Any) -> list[list[str]]:
    """Who says what, in a text or in messages; a text is said by nobody."""
    messages = value if isinstance(value, list) else [] if value is None else [value]
    said = [turn(message) for message in messages]
    return [[role, cut(text, max(TEXT // len(said), 200))] for role, text in said]


def turn(message: Any) -> tuple[str, str]:
    if not isinstance(message, Mapping):
        return "", plain(message)
    rest = {key: value for key, value in message.items() if key not in ("role", "content") and value}
    parts = [content(message.get("content")), plain(rest) if rest else ""]
    return str(message.get("role") or ""), "\n".join(filter(None, parts))


def content(value: Any) -> str:
    """Text of a message's content, with the name of what is not text."""
    if not isinstance(value, list):
        return "" if value is None else plain(value)
    parts = [part if isinstance(part, Mapping) else {"text": plain(part)} for part in value]
    return "".join(plain(part["text"]) if part.get("text") else f"[{part.get('type', 'part')}]" for part in parts)


def plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def cut(text: str, limit: int) -> str:
    """The text, or its beginning and its end."""
    if len(text) <= limit:
        return text
    left_out = f"\n… {len(text) - limit:,} characters left out …\n"
    return text[: limit * 3 // 4] + left_out + text[len(text) - limit // 4 :]
