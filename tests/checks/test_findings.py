"""What checks have found, as text; and the functions of an expression that they look at."""

from trl_grpo_rewards import boxed, clip, gate, keywords, route, tags
from trl_grpo_rewards.checks.findings import Findings, as_text, verdict
from trl_grpo_rewards.function_rewards import find_functions


def names(rewards, **options) -> list[str]:
    return [function.factory.__name__ for function in find_functions(rewards, **options)]


def test_all_functions_of_an_expression_are_found():
    rewards = boxed() + 0.5 * gate(clip(tags("a"), high=1), by=keywords(any=("b",)), name="gated")
    assert names(rewards) == ["boxed", "gate", "clip", "tags", "keywords"]
    assert names(clip(boxed() - tags("a"), low=0)) == ["clip", "boxed", "tags"]


def test_what_costs_the_completion_something_can_be_left_out():
    rewards = boxed() - 0.5 * keywords(any=("b",)) + 0 * tags("a")
    assert names(rewards) == ["boxed", "keywords", "tags"] and names(rewards, paid_only=True) == ["boxed", "tags"]
    assert names(clip(boxed() - tags("a"), low=0), paid_only=True) == ["clip", "boxed"]


def test_only_the_functions_that_score_a_row_can_be_kept():
    rewards = route("kind", {"math": boxed()}, default=gate(tags("a"), by=keywords(any=("b",))))
    assert names(rewards, row={"kind": "math"}) == ["route", "boxed"]
    assert names(clip(rewards, high=1), row={"kind": "math"}) == ["clip", "route", "boxed"]
    assert names(rewards, row={"kind": "text"}) == ["route", "gate", "tags", "keywords"]


def test_findings_are_written_in_sections_with_the_faults_at_the_end():
    found = [Findings("first", ["one", "two"], ["careful"], ["bad"]), Findings("second", faults=["worse"])]
    assert as_text(found) == "first:\n  one\n  two\n\nsecond:\n\n" + verdict(found)
    assert verdict(found) == "warning: careful\n\nfault: bad\n\nfault: worse\n\n2 faults found."
    assert verdict(found[1:]).endswith("1 fault found.") and verdict([Findings("third")]) == "No fault found."
