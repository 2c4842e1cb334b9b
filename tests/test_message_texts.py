"""The text of completions in every shape that TRL passes, outside of the reasoning, and as strict JSON."""

import pytest

from trl_grpo_rewards import answer, boxed, reward
from trl_grpo_rewards.texts import MAX_LEVELS, REASONING_MARKS, read_json, strip_reasoning


@reward
def echo(completion: str, log_extra) -> float:
    log_extra("text", completion)
    return 0.0


@reward
def asked(prompt: str, log_extra) -> float:
    log_extra("text", prompt)
    return 0.0


@reward
def count_messages(messages: list) -> float:
    return float(len(messages))


def logged(maker, **call):
    columns = {}
    maker()(**call, log_extra=lambda column, values: columns.update({column: values}))
    return columns[f"{maker.__name__}/text"]


TOOL_USE = [
    {"role": "assistant", "content": "Let me see.", "tool_calls": [{"name": "add"}]},
    {"role": "tool", "name": "add", "content": "4"},
    {"role": "assistant", "content": "It is 4."},
]


@pytest.mark.parametrize("completion, text", [
    ("as it is", "as it is"), ([{"role": "assistant", "content": "one message"}], "one message"),
    ({"role": "assistant", "content": "not in a list"}, "not in a list"), ([{"content": "no role"}], "no role"),
    (TOOL_USE, "It is 4."), (TOOL_USE[:2], "Let me see."),
    ([{"role": "assistant", "content": None, "tool_calls": []}], ""), ([{"role": "assistant"}], ""),
    ([{"role": "tool", "content": "only a tool"}], ""), ([], ""),
    ([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], "ab"),
    ([{"role": "assistant", "content": [{"type": "image", "image": "x"}, {"type": "text", "text": "c"}]}], "c"),
    ([{"role": "assistant", "content": [{"type": "text", "text": None}, "plain"]}], "plain"),
])  # fmt: skip
def test_a_completion_gives_its_text(completion, text):
    assert logged(echo, completions=[completion]) == [text]


@pytest.mark.parametrize("prompt, text", [
    ("2 + 2?", "2 + 2?"),
    ([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}], "2 + 2?"),
    ([{"role": "user", "content": "first"}, {"role": "assistant", "content": "a"}], "first"),
    ([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "what?"}]}], "what?"),
    ([{"role": "system", "content": "only this"}], "only this"), ([], ""),
])  # fmt: skip
def test_a_prompt_gives_what_the_user_asked(prompt, text):
    assert logged(asked, prompts=[prompt], completions=["x"]) == [text]


def test_messages_are_a_list_in_both_formats():
    assert count_messages()(completions=["text", TOOL_USE]) == [1.0, 3.0]


@pytest.mark.parametrize(
    "completion",
    [
        b"bytes", 5, [5], [None], float("nan"), {"role": "assistant", "content": 5}, [{"role": "assistant", "content": 5}],
        [{"role": "assistant", "content": [5]}], [{"role": "assistant", "content": [{"type": "text", "text": 5}]}],
    ],
    ids=str,
)  # fmt: skip
def test_a_completion_of_a_wrong_type_is_refused_in_one_sentence(completion):
    calls = [(echo(), {"completions": [completion]})]
    if completion != {"role": "assistant", "content": 5}:
        calls.append((asked(), {"completions": ["a"], "prompts": [completion]}))
    for scored, data in calls:
        with pytest.raises(TypeError, match=r"must be a text or a list of (messages|parts); got .*Pass"):
            scored(**data)


@pytest.mark.parametrize("start, end", REASONING_MARKS, ids=lambda mark: mark)
def test_what_is_inside_the_marks_is_no_answer(start, end):
    for text in (f"{start}maybe \\boxed{{42}}{end}", f"maybe \\boxed{{42}}{end}"):
        paid = [
            [*boxed()(completions=[f"{text}\\boxed{{5}}"] * 2, solution=["5", "42"])],
            [*answer()(completions=[f"{text}<answer>5</answer>"] * 2, solution=["5", "42"])],
            [*boxed()(completions=[text, f"{text} \n"], solution=["42", "42"])],
        ]
        assert paid == [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    assert boxed()(
        completions=[f"{start}so \\boxed{{5}}", f"\\boxed{{5}}{start}or \\boxed{{4}}"], solution=["5"] * 2
    ) == [0.0, 1.0]


def test_an_answer_before_the_reasoning_counts_if_none_follows():
    text = "<answer>5</answer><reasoning>It is not \\boxed{42}.</reasoning>\n"
    assert answer()(completions=[text] * 2, solution=["5", "42"]) == [1.0, 0.0]


def test_many_marks_take_linear_time():
    assert strip_reasoning("<think>" * 10_000 + "</think>" * 10_000 + "5") == "5"
    assert strip_reasoning("".join(start + "x" for start, _ in REASONING_MARKS) * 10_000) == ""


def test_what_is_not_strict_json_is_refused():
    for text in ('{"a": 1, "a": 2}', "NaN", "-Infinity", "1e999", "[1,]", "'a'", "", "{} {}", "\ufeff1"):
        with pytest.raises(ValueError):
            print(text, read_json(text))


def test_json_is_read():
    assert read_json(' {"a": [1, 2.5, null, true], "b": {"a": "x"}} ') == {"a": [1, 2.5, None, True], "b": {"a": "x"}}


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")])
def test_depth_has_a_bound(opening, closing):
    assert read_json(opening * MAX_LEVELS + "1" + closing * MAX_LEVELS)
    with pytest.raises(RecursionError):
        read_json(opening * (MAX_LEVELS + 1) + "1" + closing * (MAX_LEVELS + 1))
