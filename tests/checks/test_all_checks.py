"""All checks of a job together."""

from pathlib import Path

import pytest
from transformers import AutoTokenizer
from trl import GRPOConfig

from helpers.checks import find_faults, get_section, make_problems
from trl_grpo_rewards import (
    FilteredGRPOConfig,
    boxed,
    choice,
    citations,
    code,
    demo,
    gate,
    judge,
    keywords,
    reward,
    tags,
)
from trl_grpo_rewards.checks import Form, Reading, as_text, assert_not_gameable, check, honest
from trl_grpo_rewards.checks.contract import check_readiness


def test_a_healthy_job_has_no_fault(config):
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    rewards = boxed(evaluated=True) + 0.5 * tags("think")
    found = check(rewards, demo.arithmetic(size=64), config(FilteredGRPOConfig, max_completion_length=64), tokenizer)
    assert "\n\nNo fault found. A right completion earns 1" in as_text(found) and len(found) == 5
    header, boxes, form, total, batch, _ = found[-1].lines
    assert header.split()[-2:] == ["ms", "each"] and batch.startswith("a batch of 8 takes ")
    assert float(total.split()[-1]) == pytest.approx(float(boxes.split()[-1]) + float(form.split()[-1]), abs=0.0015)


def test_form_alone_is_a_warning_and_judges_are_not_asked():
    data = make_problems("1", "2")
    found = get_section("attacks", tags("think"), data)
    assert found.warnings == ["No reward reads a dataset column, so form alone earns the full reward."]
    assert not found.faults
    asked = judge(model="none", rubric="Is it right?", base_url="http://localhost:9/v1")
    not_tried = get_section("rewards that were not tried, because they ask", asked, data)
    assert not_tried.lines == ["judge: checks never ask a server or a person"]
    (fault,) = find_faults(boxed() + 0.5 * asked, data)
    assert "asks the server http://localhost:9/v1, which cannot be reached" in fault


def test_what_cannot_be_judged_is_one_fault_and_no_attack():
    golds = ["it is seven of them, I think", None, "7", "8"]
    data = make_problems(*golds)
    assert len(find_faults(boxed() + 0.2 * tags("think"), data)) == 1
    assert not find_faults(boxed() + 0.2 * tags("think"), data, threshold=0.6)


def of_box(completions, solution, **kwargs):
    return [float(text.endswith(f"\\boxed{{{right}}}")) for text, right in zip(completions, solution, strict=True)]


def test_rewards_are_given_as_a_trainer_takes_them(config):
    data = make_problems("71", "82")
    args = config(GRPOConfig, reward_weights=[1.0, 0.2])
    for given, text in (
        ([of_box, tags("think")], "of_box() + 0.2 * tags('think')"), ((boxed(), of_box), "boxed() + 0.2 * of_box()"),
    ):  # fmt: skip
        found = check(given, data, args)
        assert found[0].lines[0] == text and not any("reward_weights" in one for one in found[0].warnings)
    assert check(of_box, data)[0].lines[0] == "of_box()"


@pytest.mark.parametrize(
    "given, said",
    [
        ([of_box, boxed], "The argument 'rewards' contains the reward factory 'boxed' instead of a reward. Call it"),
        ("boxed()", r"The rewards are the text 'boxed\(\)' instead of a reward. Write parse\('boxed\(\)'\)."),
        ({"boxed": 1}, r"must be an expression, a function or a list of these; got \{'boxed': 1\}. Write, for example, boxed\(evaluated=True\) \+"),
    ],
)  # fmt: skip
def test_what_is_no_reward_is_refused(given, said):
    with pytest.raises(TypeError, match=said):
        check(given, make_problems("7"))


def test_a_column_of_completions_and_sources_are_the_datasets_own():
    answers, cited = make_problems("1", "2"), citations(sources="sources")
    data = answers.add_column("completion", [None, [{"role": "assistant", "content": "1"}]])
    assert not find_faults(boxed() + tags("think"), data)
    for rewards in (boxed() + 0.1 * cited, cited):
        assert not find_faults(rewards, answers.add_column("sources", [["one"], ["two"]]))


@reward(batched=True)
async def opinion(prompts: list, completions: list) -> list[float]:
    """A judge of the user's own, whose every call costs money."""
    raise AssertionError("It was asked.")


@reward(asks=True)
def asked_by_hand(completion: str) -> float:
    raise AssertionError("It was asked.")


def test_no_reward_that_asks_is_called_by_a_check():
    data, outcome = demo.arithmetic(size=16), boxed(evaluated=True)
    for rewards in (
        outcome + 0.3 * opinion(),
        outcome + 0.3 * gate(asked_by_hand(), by=boxed()),
        opinion() + asked_by_hand(),
    ):
        assert rewards.asks and not find_faults(rewards, data)
        assert_not_gameable(rewards)
    lines = get_section("rewards that were not tried", outcome + 0.3 * opinion(), data).lines
    assert lines == ["opinion: checks never ask a server or a person"]


def hash_form() -> Form:
    return Form(answer="#### {}")


def read_numbers(values: list) -> list[Reading]:
    return [Reading("whole", value) if value.isdigit() else Reading("not at all") for value in values]


@reward(outcome=True, form=hash_form, reads={"result": read_numbers}, worthless=lambda: {"every answer": "#### any"})
def hashed(completion: str, result: str, solution: str) -> float:
    """Paid for the answer after four hashes, or, which is a hole, for any."""
    return float(completion.endswith(f"#### {result}") or completion.endswith("any"))


def test_a_reward_of_the_user_takes_part_in_all_checks():
    data = make_problems("7", "8", "9").add_column("result", ["7", "8", "nine"])
    assert honest(hashed(), data[0]).endswith("#### 7")
    faults = find_faults(hashed(), data)
    assert any(
        "1 of 3 values cannot be read as a whole, such as 'nine', the value of the prompt" in one for one in faults
    )
    assert any("hashed: every answer" in fault for fault in faults)
    healthy = make_problems("7", "8", "9").add_column("result", ["1", "2", "3"])
    assert all("hashed: every answer" in fault for fault in find_faults(hashed(), healthy))
    assert honest(hashed(), healthy[0]).endswith("#### 1")  # the column that the outcome reads, not the solution


@reward
def refuses(completion: str, solution: str) -> float:
    return 1 / (len(completion) - len(completion))


@reward(outcome=True)
def refuses_words(completion: str, solution: str) -> float:
    return float(completion.endswith(f"{{{int(solution)}}}"))


@pytest.mark.parametrize(
    "rewards, solutions, expected",
    [
        (judge(model="none", rubric="Is it right?", base_url="http://localhost:9/v1"), ["7", "8"], ["attacks", "a dry"]),
        (boxed() + keywords(all=("so",)) + keywords(none=("so",), name="plain"), ["7", "8"], ["attacks", "a dry"]),
        (boxed(evaluated=True) + refuses(), ["7", "8"], ["a dry"]),
        (refuses_words(), [*map(str, range(16)), "many"], ["a dry"]),  # no attack is tried on the last row
        (code(backend="no_such_module:Sandbox"), ["7", "8"], ["a dry"]),
        (boxed(solution="answer"), ["7", "8"], ["attacks", "a dry"]),
    ],
    ids=["asks", "contradictory", "raises on every row", "raises on the last row", "not ready and raises", "no column"],
)  # fmt: skip
def test_what_is_not_tried_has_a_row(rewards, solutions, expected):
    data = make_problems(*solutions).add_column("tests", [["assert f() == 1"]] * len(solutions))
    found = check(rewards, data)
    assert [one.title[:11] for one in found][-2:] == ["attacks", "a dry run o"]
    left_out = [one for one in found if not one.is_run]
    assert len(left_out) == len(expected) and all(map(str.startswith, [one.title for one in left_out], expected))
    assert all(one.lines[0].startswith("not run: ") and not (one.faults or one.data) for one in left_out)
    assert all(f"{one.title}:\n  not run: " in as_text(found) for one in left_out)


def test_forms_that_contradict_each_other_are_said():
    rewards = boxed(evaluated=True) + keywords(all=("so",)) + keywords(none=("so",), name="plain")
    (warning,) = [text for one in check(rewards, demo.arithmetic(size=8)) for text in one.warnings + one.faults]
    assert (
        "No completion can earn both 'keywords' and 'plain': one needs the text 'so', and another forbids" in warning
    )
    with pytest.raises(ValueError, match="No completion can earn both 'keywords' and 'plain': .* Change or remove"):
        assert_not_gameable(rewards)


def test_attacks_and_the_dry_run_are_values_too():
    found = check(refuses_words() + 0.5 * tags("think"), make_problems("7", "8", "9"))
    data = found[-2].data | found[-1].data
    assert {"name": "nothing", "mean": 0.0, "paid": 0, "tried": 3, "share": -0.5, "row": None} in data["attacks"]
    rows = [{name: value for name, value in row.items() if name != "mean_milliseconds"} for row in data["dry_run"]]
    assert rows == [
        {"name": "refuses_words", "weight": 1.0, "right": 1.0, "wrong": 0.0, "helpless": 0.0},
        {"name": "tags", "weight": 0.5, "right": 1.0, "wrong": 1.0, "helpless": 0.0},
        {"name": "total", "weight": None, "right": 1.5, "wrong": 0.5, "helpless": 0.0},
    ]
    assert all(row["mean_milliseconds"] > 0 for row in data["dry_run"])
    (judged,) = [one.data["dry_run"] for one in check(choice(), make_problems(1, 2)) if "dry_run" in one.data]
    assert judged[0]["right"] is None  # JSON has no NaN


def check_disk(folder: str) -> None:
    if not Path(folder).is_dir():
        raise ValueError(f"There is no folder {folder}. Create it.")


@reward(ready=check_disk)
def archived(completion: str, *, folder: str) -> float:
    return 1.0


def test_a_reward_says_what_keeps_it_from_working_here(tmp_path):
    ready, gone = (boxed() + gate(archived(str(folder)), by=boxed()) for folder in (tmp_path, tmp_path / "gone"))
    assert not check_readiness(ready).faults
    (fault,) = check_readiness(gone).faults
    assert (
        fault in find_faults(gone, make_problems("1", "2"))
        and fault == f"There is no folder {tmp_path}/gone. Create it."
    )


@pytest.mark.parametrize(
    "rewards, read", [(tags("think") + gate(boxed(), by=boxed()), "solution (string)"), (tags("think"), "none")]
)
def test_what_the_rewards_read_is_listed(rewards, read):
    assert check(rewards, make_problems("1", "2"))[0].lines == [
        str(rewards),
        f"2 prompts; columns that the rewards read: {read}",
        "Each row has a number or formula as the answer: boxed() fits.",
    ]
