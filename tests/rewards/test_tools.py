"""Rewards for tools: attacks first, then the shapes of calls, comparisons, errors, turns and environments."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.checks import find_faults, make_problems
from trl_grpo_rewards import boxed, environment, gate, parse, tool_calls, tool_errors, turns
from trl_grpo_rewards.checks import assert_not_gameable


ADD, MUL = {"name": "add", "arguments": {"a": 2, "b": 3}}, {"name": "mul", "arguments": {"a": 5, "b": 4}}
JUNK = {"name": "help", "arguments": {}}
SCORES = ("exact", "f1", "partial")


def tagged(*calls):
    return "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)


def said(text="", *calls):
    structured = [{"type": "function", "function": call} for call in calls]
    return {"role": "assistant", "content": text, **({"tool_calls": structured} if calls else {})}


def result(text, **more):
    return {"role": "tool", "name": "add", "content": text, **more}


def paid(completion, expected=(ADD, MUL), **options):
    return tool_calls(**options)(completions=[completion], tool_calls=[list(expected)])[0]


IN_BOTH_FORMS = [tagged, lambda *calls: [said("", *calls)], lambda *calls: [said(tagged(*calls))]]


@pytest.fixture(params=IN_BOTH_FORMS, ids=["text", "tool_calls", "text in a message"])
def making(request):
    """Returns a completion that makes these calls."""
    return request.param


@pytest.mark.parametrize("score", SCORES)
def test_the_right_calls_earn_1_in_any_order(making, score):
    assert paid(making(ADD, MUL), score=score) == paid(making(MUL, ADD), score=score) == 1
    assert paid(making(MUL, ADD), score=score, order=True) < 1 == paid(making(ADD, MUL), score=score, order=True)


# --- attacks


def test_twenty_junk_calls(making):
    calls = [*[JUNK] * 10, ADD, MUL, *[JUNK] * 10]
    assert paid(making(*calls)) == 0
    assert paid(making(*calls), score="f1") == paid(making(*calls), score="partial") == 4 / 24
    assert paid(making(*[JUNK] * 20), score="partial") == 0


def test_guesses_with_every_argument(making):
    guesses = [{"name": "add", "arguments": {"a": a, "b": b}} for a in range(10) for b in range(10)]
    assert paid(making(*guesses), [ADD]) == 0
    assert all(paid(making(*guesses), [ADD], score=score) == 2 / 101 for score in ("f1", "partial"))


def test_the_right_call_repeated(making):
    assert paid(making(ADD, ADD), [ADD]) == 0
    assert paid(making(*[ADD] * 20), [ADD], score="f1") == 2 / 21
    assert paid(making(ADD, ADD), [ADD, ADD]) == 1
    assert paid(making(ADD), [ADD, ADD]) == 0


@pytest.mark.parametrize(
    "text",
    [
        "I would call add with a = 2 and b = 3, then mul.",
        f"I would call {json.dumps(ADD)} and then {json.dumps(MUL)}.", f"{json.dumps(ADD)}\n{json.dumps(MUL)}",
        f"Call this: ```json\n{json.dumps([ADD, MUL])}\n```", f"<think>{tagged(ADD, MUL)}</think>Done.",
        f"<think>{tagged(ADD, MUL)}", f"{tagged(ADD, MUL)}</think>Done.", f"`add(2, 3)` {tagged(MUL)}",
    ],
)  # fmt: skip
def test_calls_that_are_only_mentioned(text):
    assert paid(text) == paid([said(text)]) == 0


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    "completion",
    [
        f"It is \\boxed{{20}}.\n{tagged(ADD, MUL)}", f"<answer>20</answer>{tagged(ADD, MUL)}",
        [said("It is 20."), said("", ADD, MUL)], [said("It is \\boxed{20}.", ADD, MUL)],
        [said("\\boxed{20}", JUNK), result("?"), said("", ADD), result("5"), said("", MUL)],
    ],
)  # fmt: skip
def test_calls_after_the_answer(completion, score):
    assert paid(completion, score=score) == 0


def test_a_call_before_the_answer_or_after_another_question_counts():
    assert paid([said("I add first.", ADD), result("5"), said("", MUL), result("20"), said("\\boxed{20}")]) == 1
    assert paid([said("", ADD), said("Which numbers?"), {"role": "user", "content": "5 and 4."}, said("", MUL)]) == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "add", "arguments": {"a": 9, "a": 2, "b": 3}}',
        '{"name": "mul", "name": "add", "arguments": {"a": 2, "b": 3}}',
        '{"name": "add", "arguments": {"a": 2, "b": 3}, "arguments": {"a": 2, "b": 3}}',
        '{"name": "add", "arguments": "{\\"a\\": 2, \\"b\\": 3}"}',
        '{"name": "add", "arguments": {"a": "2", "b": "3"}}',
        '{"name": "add", "arguments": {"a": 2, "b": 3, "c": NaN}}',
        '{"name": "add", "arguments": {"a": 2, "b": 3e999}}', '{"name": "add", "arguments": {"a": 2, "b": 3}',
        "{'name': 'add', 'arguments': {'a': 2, 'b': 3}}", '{"name": ["add"], "arguments": {"a": 2, "b": 3}}',
        '{"name": "add", "arguments": {"a": true, "b": 3}}', "[" * 5000, "9" * 5000, "",
    ],
)  # fmt: skip
def test_a_call_that_is_not_what_it_should_be_is_in_excess(text):
    call = f"<tool_call>{text}</tool_call>"
    assert paid(call, [ADD]) == paid(call, [ADD], score="f1") == paid(call + tagged(ADD), [ADD]) == 0
    assert paid(call + tagged(ADD), [ADD], score="f1") == pytest.approx(2 / 3)


def test_a_call_inside_an_argument_is_text():
    outer = {"name": "say", "arguments": {"text": tagged(ADD, MUL)}}
    assert paid(tagged(outer)) == paid(tagged(outer), score="partial") == 0
    assert paid(tagged(outer), [outer]) == 1


def test_a_call_that_others_make_is_not_the_models():
    echo = said("", {"name": "echo", "arguments": {}})
    assert paid([echo, result(tagged(ADD, MUL)), said("Done.")]) == 0
    assert paid([echo, {**result("x"), "tool_calls": said("", ADD, MUL)["tool_calls"]}, said("Done.")]) == 0
    assert paid([said("Which?"), {"role": "user", "content": tagged(ADD, MUL)}, said("Done.")]) == 0
    assert paid(f"Hm.<tool_response>{tagged(ADD, MUL)}</tool_response>Done.") == 0
    assert paid(tagged(ADD) + "<tool_response>5</tool_response>" + tagged(MUL)) == 1


def test_texts_next_to_real_calls_are_not_read():
    assert paid([said(tagged(MUL), ADD), result("5"), said("Done.")], [ADD]) == 1
    assert paid([said(tagged(ADD), JUNK), result("5"), said("Done.")], [ADD]) == 0


def test_checks_write_the_expected_calls_and_try_them_too_often():
    rows = [{"prompt": "2 + 3?", "tool_calls": [ADD]}, {"prompt": "5 * 4?", "tool_calls": [MUL]}]
    for rewards in (tool_calls(), tool_calls(score="f1"), tool_calls(score="partial", order=True)):
        assert_not_gameable(rewards, rows)
    assert_not_gameable(boxed() + tool_calls(), [{**row, "solution": "20"} for row in rows])
    calls = [json.dumps([{"name": "add", "arguments": {"a": n, "b": 3}}]) for n in range(8)]
    data = make_problems(*"12345678").add_column("tool_calls", calls)
    assert not find_faults(tool_calls(), data) and not find_faults(boxed() + 0.5 * tool_calls(), data)


# --- properties

CALL = st.builds(
    lambda name, arguments: {"name": name, "arguments": arguments},
    st.sampled_from(["add", "mul", "find"]),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=2),
)
CALLS = st.lists(CALL, max_size=5)


@given(CALLS, CALLS, st.sampled_from(SCORES), st.randoms())
def test_order_matters_only_if_it_is_asked_for(made, expected, score, random):
    shuffled = random.sample(made, len(made))
    assert paid(tagged(*made), expected, score=score) == pytest.approx(paid(tagged(*shuffled), expected, score=score))
    assert paid(tagged(*made), made, score=score) == paid(tagged(*made), made, score=score, order=True) == 1
    assert paid(tagged(*made), expected, score=score, order=True) <= paid(tagged(*made), expected, score=score) + 1e-9


@given(CALLS, CALLS, st.sampled_from(SCORES), st.booleans(), st.integers(0, 5), st.sampled_from([JUNK, None]))
def test_a_junk_call_never_raises_the_score(made, expected, score, order, place, junk):
    options = {"score": score, "order": order}
    junk = tagged(junk) if junk else "<tool_call>"
    parts = [tagged(call) for call in made]
    with_junk = "\n".join([*parts[:place], junk, *parts[place:]])
    before, after = paid(tagged(*made), expected, **options), paid(with_junk, expected, **options)
    assert after < before or after == before == 0
    if made:  # nor does a call once more, beyond those that are expected
        again = paid(tagged(*made, *[made[0]] * (1 + expected.count(made[0]))), expected, score="f1")
        assert again <= paid(tagged(*made, *[made[0]] * expected.count(made[0])), expected, score="f1")


@given(CALLS, CALLS, st.sampled_from(SCORES))
def test_scores_are_shares_and_exact_means_equal(made, expected, score):
    found = paid(tagged(*made), expected, score=score)
    same = sorted(map(json.dumps, map(sort, made))) == sorted(map(json.dumps, map(sort, expected)))
    assert 0 <= found <= 1 and (found == 1) == same


def sort(call):
    return {"name": call["name"], "arguments": dict(sorted(call["arguments"].items()))}


# --- shapes and comparisons


def test_no_calls_expected():
    assert paid("It is 20.", []) == 1
    assert paid(tagged(JUNK), []) == paid(tagged(JUNK), [], score="f1") == paid("<tool_call>", []) == 0
    assert tool_calls()(completions=["It is 20."], tool_calls=[None]) == [None]


def test_arguments_are_compared_as_asked():
    expected = [{"name": "find", "arguments": {"city": "New York", "days": 3, "tags": ["a", "b"]}}]
    made = {"name": "find", "arguments": {"city": "new-york", "days": "3", "tags": ["b", "a"]}}
    assert paid(tagged(made), expected) == paid(tagged(made), expected, score="partial") == 0
    compare = {"city": "text", "days": "number", "find.tags": "set"}
    assert paid(tagged(made), expected, compare=compare) == 1
    assert paid(tagged(made), expected, compare={"*": "text"}, score="partial") == pytest.approx(1 / 3)
    assert paid(tagged(made), expected, compare={**compare, "city": "ignore", "*": "exact"}) == 1
    assert paid(tagged({"name": "find", "arguments": {}}), expected, compare={"*": "ignore"}) == 1


def test_partial_pays_for_arguments_and_f1_for_whole_calls():
    half = {"name": "add", "arguments": {"a": 2, "b": 9}}
    assert (paid(tagged(half), [ADD], score="partial"), paid(tagged(half), [ADD], score="f1")) == (0.5, 0)
    assert paid(tagged({"name": "add", "arguments": {**ADD["arguments"], "c": 1}}), [ADD], score="partial") == 2 / 3


def test_the_option_names_the_column():
    score = tool_calls("answers", score="f1", compare={"city": "text"})
    assert score.columns == {"answers"} and score.is_outcome and parse(str(score)) == score
    assert score(completions=[tagged(ADD)], answers=[json.dumps([ADD])]) == [1]
    with pytest.raises(ValueError, match="Reward 'tool_calls' needs the column 'answers'; found 'tool_calls'"):
        score(completions=[tagged(ADD)], tool_calls=[[ADD]])
    with pytest.raises(ValueError, match=r"Expected calls must be a list of calls, such as .* got 'add\(2, 3\)'"):
        score(completions=[""], answers=["add(2, 3)"])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"expected": ""}, "requires the name of a column, .*; got expected='', compare=None"),
        ({"score": "fractional"}, "Option 'score' of 'tool_calls' must be of type Literal"),
        ({"compare": {"city": "fuzzy"}}, "Option 'compare' of 'tool_calls' must be of type"),
        ({"compare": {"": "text"}}, "names of arguments, such as compare"),
    ],
)
def test_options_that_cannot_work_are_refused(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        tool_calls(**options)


# --- errors


def errors(*messages, **options):
    return tool_errors(**options)(completions=[list(messages)])[0]


@pytest.mark.parametrize(
    "failed",
    [
        result("{'error': 'Tool add not found.'}"), result('{"error": "b is missing"}'), result(' { "error" : {"code": 1}}'),
        result("{'error': ''}"),
        result("5", is_error=True), result("5", status="error"), result([{"type": "text", "text": "{'error': 'no'}"}]),
    ],
)  # fmt: skip
def test_failures_are_seen(failed):
    assert errors(said("", ADD), failed) == -1
    assert errors(said("", ADD), result("5"), said("", ADD), failed, said("5")) == -0.5
    assert errors(said("", ADD), failed, limit=4) == -0.25


@pytest.mark.parametrize(
    "text", ["5", "{'error': None, 'value': 5}", '{"error": null}', "error: none", "{'errors': 1}", "", None]
)
def test_results_are_no_failures(text):
    assert errors(said("", ADD), result(text)) == 0


def test_a_model_cannot_hide_or_invent_errors():
    failed = result("{'error': 'no'}")
    assert errors(said("{'error': 'no'}")) == 0  # no tool was called
    assert errors(*[said("", JUNK), result("ok")] * 19, said("", ADD), failed) == -0.05  # the share is diluted ...
    assert errors(*[said("", JUNK), result("ok")] * 19, said("", ADD), failed, limit=1) == -1  # ... the number is not
    assert errors(*[said("", ADD), failed] * 9, limit=3) == -1
    assert tool_errors()(completions=["<tool_call>{</tool_call>", tagged(ADD), "5", ""]) == [-1, 0, 0, 0]


# --- turns


@pytest.mark.parametrize("count, score", [(0, 0), (1, 0.5), (2, 1), (3, 1), (4, 1), (5, 0.75), (8, 0), (90, 0)])
def test_turns(count, score):
    messages = [said("Is it 7?"), {"role": "user", "content": "Less."}] * count
    assert turns(at_most=4, at_least=2)(completions=[messages]) == [score]


def test_empty_messages_are_no_turns():
    empty = [said(" "), said(None), said("")]
    assert turns(at_most=4, at_least=2)(completions=[[*empty, said("", ADD), result("5")], empty, "text", ""]) == [
        0.5, 0.0, 0.5, 0.0,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="requires 1 <= at_least <= at_most; got at_most=2, at_least=3"):
        turns(at_most=2, at_least=3)


# --- environments


class Game:
    def __init__(self, score, tries=1):
        self.score, self.tries = score, tries

    @property
    def share(self):
        return self.score / 10


def held(*games, **options):
    return environment(**options)(completions=[""] * len(games), environments=list(games))


def test_a_number_of_the_environment():
    assert held(Game(3), Game(None), Game(True), attribute="score") == [3, None, 1]
    assert held(Game(3), attribute="share") == [0.3]
    assert held(Game(-5), Game(0), Game(5), Game(20), attribute="score", low=0, high=10) == [0, 0, 0.5, 1]
    assert held(Game(3), SimpleNamespace(), attribute="score", optional=True) == [3, None]
    inner = gate(boxed(), by=environment("score", low=0, high=10))
    assert inner(completions=["\\boxed{1}"] * 2, solution=["1"] * 2, environments=[Game(3), Game(10)]) == [0, 1]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"attribute": "won"}, "needs an attribute 'won'; a Game has score, tries. Set it in __init__"),
        ({"attribute": "__dict__"}, "requires the name of a public attribute, .*; got attribute='__dict__'"),
        ({"attribute": "score.x"}, "requires the name of a public attribute"),
        ({"attribute": "score", "low": 1}, "low < high or neither of them; got attribute='score', low=1, high=None"),
        ({"attribute": "score", "low": 1, "high": 1}, "and low < high or"),
    ],
)
def test_what_is_not_a_number_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        held(Game(1), **options)


def test_other_values_are_refused():
    with pytest.raises(ValueError, match="needs a number or None; 'score' of a Game is 'high'. Store a number"):
        held(Game("high"), attribute="score")
    with pytest.raises(ValueError, match="needs 'environments', which GRPOTrainer passes but this call does not"):
        environment("score")(completions=[""])
