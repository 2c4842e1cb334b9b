"""A table of sampled groups in Weights & Biases and in Trackio, and their traces in Trackio, if the run reports to them."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from itertools import count
from typing import Any

import pandas as pd
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ..batch import completion_text, prompt_text
from .config import FilteredGRPOConfig


TRACKERS = ("wandb", "trackio")
"""Trackers that can show a table."""

NAME = "groups"
"""Name of the table. TRL's own table, of `log_completions=True`, is named `completions`."""

MAX_GROUPS = 4
"""Number of groups in a table. Prompts are shuffled, so the first groups of a step are a random sample."""


class GroupTable(TrainerCallback):
    """
    Log some groups of the latest step whenever the trainer logs, with a row for each completion.

    There is no table if TRL logs one itself (`log_completions=True`), or if records have no texts.

    Args:
        args ([`FilteredGRPOConfig`]):
            Configuration of the run.
    """

    def __init__(self, args: FilteredGRPOConfig) -> None:
        reports = args.report_to if isinstance(args.report_to, list) else [args.report_to]
        has_texts = args.group_records and args.group_records_text and not args.log_completions
        self.trackers = [name for name in TRACKERS if name in reports and has_texts]
        self.records: list[dict[str, Any]] = []

    def keep(self, step: int, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Return an iterator over the records of a step that keeps the first ones for the table."""
        self.records = []
        return map(partial(self._keep_one, step), count(), records)

    def _keep_one(self, step: int, group: int, record: dict[str, Any]) -> dict[str, Any]:
        if self.trackers and group < MAX_GROUPS:
            self.records.append({"step": step, "group": group, **record})
        return record

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if not state.is_world_process_zero or not self.records or "reward" not in (logs or {}):
            return
        rows = pd.DataFrame([row for record in self.records for row in list_rows(record)])
        for tracker in map(import_module, self.trackers):
            if tracker.__name__ != "wandb" or tracker.run is not None:
                traces = self.list_traces(tracker.Trace) if hasattr(tracker, "Trace") else {}
                tracker.log({NAME: tracker.Table(dataframe=rows), **traces})

    def list_traces(self, build: Callable[..., Any]) -> dict[str, Any]:
        """Return a trace of each completion, with what it earned, by its place in the table."""
        return {
            f"{NAME}/{record['group']}/{place}": build(
                [*to_messages(record["prompt"], "user"), *to_messages(record["completions"][place], "assistant")],
                {name: value for name, value in row.items() if name not in ("prompt", "completion")},
            )
            for record in self.records
            for place, row in enumerate(list_rows(record))
        }


def to_messages(text: Any, role: str) -> list[dict[str, Any]]:
    """Return a prompt or a completion as messages."""
    return text if isinstance(text, list) else [{"role": role, "content": text}]


def list_rows(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the row of each completion of a group."""
    for place, completion in enumerate(record["completions"]):
        yield {
            "step": record["step"],
            "group": record["group"],
            "outcome": record["outcome"],
            "prompt": prompt_text(record["prompt"]),
            "completion": show_completion(completion),
            **{name: scores[place] for name, scores in record["rewards"].items()},
            "total": record["total"][place],
            "advantage": record["advantages"][place],
            "tokens": record["lengths"][place],
        }


def show_completion(completion: Any) -> str:
    """Return the text of a completion, or all of its messages as JSON if there are several."""
    has_turns = isinstance(completion, list) and len(completion) > 1
    return json.dumps(completion, ensure_ascii=False) if has_turns else completion_text(completion)
