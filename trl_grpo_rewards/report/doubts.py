"""Problems whose completions agree with each other against the solution, which may be wrong."""

import re
from collections import Counter
from typing import Any

from ..answers.own_words import find_own_words
from ..answers.statements import find_stated_answer
from ..records.fields import identify_prompt
from .excerpts import join_parts, to_text
from .trends import label_prompt, read_outcome_scores, shorten_labels


MAX_DOUBTS = 20  # number of problems that are shown
LEAST_SHARE = 0.5  # of the completions of a problem that give the same answer, which is not the solution
MOST_RIGHT = (
    0.05  # share of all completions of a problem that are right by its solution. Of a right one, some are, at first
)
MAX_TAIL = 4000  # characters at the end of a completion in which its answer is looked for
SOLUTIONS = ("solution", "answer", "gold", "target", "label", "ground_truth")  # columns, the best first


class Doubts:
    """The latest groups of each problem, as how many completions agree on which answer."""

    def __init__(self) -> None:
        self.problems: dict[str, dict[str, Any]] = {}

    def add(self, record: dict[str, Any]) -> None:
        prompt_id = identify_prompt(record)
        texts, scores = record.get("completions"), read_outcome_scores(record)
        if prompt_id is None or not texts or not record.get("columns"):
            return
        problem = self.problems.setdefault(
            prompt_id, {"label": label_prompt(record), "groups": [], "count": 0, "right": 0}
        )
        problem["count"] += len(texts)
        problem["solution"] = find_solution(record["columns"])
        right = sum(score is not None and score >= 1 for score in scores)
        problem["right"] += right
        answers = Counter(find_answer(text) for text in texts) if right <= len(texts) / 2 else Counter()
        answers.pop(None, None)
        problem["groups"] = [*problem["groups"][-3:], (record["step"], len(texts), answers)]

    def describe(self) -> list[dict[str, Any]]:
        """Return the problems whose solutions should be read first."""
        labels = shorten_labels({prompt_id: problem["label"] for prompt_id, problem in self.problems.items()})
        found = [
            {"prompt": labels[prompt_id], **doubt}
            for prompt_id, problem in self.problems.items()
            if (doubt := describe_doubt(problem))
        ]
        return sorted(found, key=lambda one: (-one["share"], -one["completions"]))[:MAX_DOUBTS]


def describe_doubt(problem: dict[str, Any]) -> dict[str, Any] | None:
    """
    Return the answer on which the completions of the last two groups agree, if it is not the solution.

    A problem that was sampled once tells nothing: a model repeats its mistakes within a group.
    """
    latest = problem["groups"][-2:]
    count = sum(size for _, size, _ in latest)
    answers: Counter[str] = sum((counts for *_, counts in latest), Counter())
    if len(latest) < 2 or count < 4 or problem["right"] > MOST_RIGHT * problem["count"] or not answers:
        return None
    answer, agreed = answers.most_common(1)[0]
    if agreed < LEAST_SHARE * count or is_same(answer, problem["solution"]):
        return None
    trend = [counts[answer] / size for _, size, counts in problem["groups"]]
    return {
        "solution": problem["solution"],
        "answer": answer,
        "share": agreed / count,
        "completions": count,
        "trend": trend,
        "step": latest[-1][0],
    }


def find_solution(columns: dict[str, Any]) -> str:
    name = next((name for name in SOLUTIONS if name in columns), next(iter(columns)))
    return to_text(columns[name])


def find_answer(completion: Any) -> str | None:
    """Return the answer that a completion states, or None."""
    messages = completion if isinstance(completion, list) else [completion]
    last = messages[-1] if messages else ""
    text = join_parts(last.get("content")) if isinstance(last, dict) else to_text(last)
    answer = find_stated_answer(find_own_words(text[-MAX_TAIL:]))
    return answer.strip()[:80] if answer else None


def is_same(answer: str, solution: str) -> bool:
    """Whether an answer differs only in its form from the solution, or contains it."""
    bare, given = (re.sub("[$,]", "", text).strip() for text in (find_stated_answer(solution) or solution, answer))
    return bool(re.search(rf"(?<!\w){re.escape(bare)}(?!\w)", given))
