"""The form that the rewards ask for, and completions of this form."""

import pytest

from trl_grpo_rewards import boxed, length, tags
from trl_grpo_rewards.checks.completion_forms import count_words, merge_forms, write_completion
from trl_grpo_rewards.forms import ContradictoryForms, Form


def test_two_forms_that_contradict_each_other_are_named():
    rewards = boxed() + tags("think") + length(9) + tags("plan", name="plan") - tags("other", name="unwanted")
    with pytest.raises(ContradictoryForms, match="No completion can earn both 'tags' and 'plan': one needs the tags"):
        merge_forms(rewards, {})


@pytest.mark.parametrize(
    "unit, size", [("tokens", lambda text: len(text) // 3), ("words", count_words), ("chars", len)]
)
@pytest.mark.parametrize("target", [12, 300])
def test_a_completion_has_the_length_that_its_form_asks_for(unit, size, target):
    form = Form(tags=("think",), length=(target, unit))
    text = write_completion(form, "many words " * 20, "7", lambda text: len(text) // 3)
    assert target <= size(text) <= target + 24 and text.endswith("</think>\n7")


def test_a_working_that_says_what_is_forbidden_is_left_out():
    assert write_completion(Form(without=("STEP",)), "Every step is shown.", "7", len) == ".\n7"
    assert write_completion(Form(words=("so",)), "It is seven.", "7", len) == "It is seven. so\n7"
