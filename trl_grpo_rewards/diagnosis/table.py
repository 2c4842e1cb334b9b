"""The table of symptoms, `symptoms.toml`: what each says, in their order, and how long a run must be for its rule."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ..records.dead_groups import GroupKind


FEW, MIN_STEPS, LONG = 5, 20, 50  # steps for facts, for trends, and without any change for too long
MIN_GROUPS = 4 * FEW  # not all dead by chance: if half are, 5 in a row are in one of 32 cases
RuleFindings: TypeAlias = (
    list[dict[str, Any]] | None
)  # values for the sentence of each warning; None without the metric


class Anomaly(NamedTuple):
    """One warning: a few words, and details with steps, numbers, and what to do."""

    title: str
    details: str


class Symptom(NamedTuple):
    """A rule of `symptoms.toml`, which says what its fields are."""

    name: str
    least: int
    title: str
    details: str
    page: str
    holds: str
    unless: Sequence[str] = ()


SYMPTOMS_FILE = tomllib.loads(Path(__file__).with_name("symptoms.toml").read_text(encoding="utf-8"))
DEAD_GROUP_REMEDIES: dict[GroupKind, str] = SYMPTOMS_FILE["remedies"]
REASONS_OF_NO_RISE: dict[str, str] = SYMPTOMS_FILE["reasons"]  # why nothing rises
SYMPTOMS = [Symptom(name, **row) for name, row in SYMPTOMS_FILE["rules"].items()]
FACTS = [symptom.name for symptom in SYMPTOMS if symptom.least == FEW]
