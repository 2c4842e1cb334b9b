"""The bundled requests: their constraints are read and can be met together, and the splits share no subject."""

import pytest

from trl_grpo_rewards import demo, instructions
from trl_grpo_rewards.demo.instructed import SUBJECTS, is_subject_held_out


def write_answer(row: dict) -> str:
    """An answer that meets the constraints of a row."""
    name_of = dict(zip(row["instruction_id_list"], row["kwargs"], strict=True))
    counts = name_of.get("length_constraints:number_words") or {"relation": None}
    words = (name_of.get("keywords:existence") or {}).get("keywords") or []
    short = counts["relation"] == "less than"
    body = " ".join(words) + (" it is" if short else " it is good and we like it" * 5)
    if "detectable_format:number_bullet_lists" in name_of:
        body = f"* {body}\n* it\n* we"
    title = "<<Note>>\n" if "detectable_format:title" in name_of else ""
    end = (name_of.get("startend:end_checker") or {}).get("end_phrase") or ""
    return f"{title}{body}.\n{end}".strip()


def test_every_request_has_two_constraints_that_can_be_met_together():
    data = demo.requests("train", size=400)
    columns = {name: data[name] for name in ("instruction_id_list", "kwargs")}
    assert {len({*names}) for names in data["instruction_id_list"]} == {2}
    assert len({name for names in data["instruction_id_list"] for name in names}) == 7
    assert instructions()(completions=[*map(write_answer, data)], prompts=data["prompt"], **columns) == [1.0] * 400
    assert not any(instructions()(completions=["It, the"] * 400, prompts=data["prompt"], **columns))


def test_what_is_tested_was_not_trained_on():
    texts = {
        split: [row["prompt"][0]["content"] for row in demo.requests(split, size=300)] for split in ("train", "test")
    }
    for subject in SUBJECTS:
        assert not any(subject in text for text in texts["train" if is_subject_held_out(subject) else "test"])
    assert 0.15 < sum(map(is_subject_held_out, SUBJECTS)) / len(SUBJECTS) < 0.3


def test_seeds_and_splits():
    assert demo.requests(size=9)[:] == demo.requests(size=9)[:] != demo.requests(size=9, seed=1)[:]
    with pytest.raises(ValueError, match="no split 'dev'; it has 'train' and 'test'"):
        demo.requests("dev")
