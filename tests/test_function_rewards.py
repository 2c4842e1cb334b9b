"""Writing rewards: what a function may ask for, what its options may be, and what it may return."""

import asyncio
import inspect

import pytest

from helpers.example_rewards import brackets, rank_in_group, shared
from trl_grpo_rewards import (
    Reward,
    boxed,
    clip,
    column,
    cosine,
    exact,
    gate,
    length,
    parse,
    reward,
    route,
    schedule,
    tags,
)
from trl_grpo_rewards.function_rewards import RewardFactory
from trl_grpo_rewards.registry import REGISTRY


@reward
def near(completion: str, price: float, unit: str = "EUR", *, within: float, currency: dict | None = None) -> float:
    return float(abs(float(completion) - price) <= within * (currency or {unit: 1})[unit])


@reward(batched=True)
def variety(prompts: list, completions: list, **kwargs) -> list[float]:
    assert {"prompts", "completions"}.isdisjoint(kwargs)
    return [len({*completions}) / len(completions)] * len(prompts)


@reward(batched=True)
def columns_seen(completions: list, **kwargs) -> list[float]:
    kwargs["log_extra"]("names", [",".join(sorted(kwargs))] * len(completions))
    kwargs["log_metric"]("count", len(kwargs))
    return [0.0] * len(completions)


@reward
def doubled(completion: str, *, of: Reward, **columns) -> float | None:
    return None if of is None else 2 * of + columns.get("bonus", 0)


@reward(batched=True)
def best(completions: list, *, of, **kwargs) -> list[float]:
    top = max(score for score in of if score is not None)
    return [float(score == top) for score in of]


@reward
def mixed_up(completion: str, at_least: int = 2) -> float:
    return 0.0


@reward
def metric(completion: str, log_metric, trainer_state) -> float:
    log_metric("length", len(completion))
    return float(trainer_state["step"])


def test_a_reward_of_one_completion_gets_data_by_name():
    call = {"completions": ["4.5", "7"], "price": [4.0, 4.0]}
    assert near(within=1)(**call) == [1.0, 0.0]
    assert near(1)(**call, unit=["EUR", "EUR"]) == [1.0, 0.0]
    assert near(1, {"EUR": 4, "USD": 1})(**call, unit=["USD", "EUR"]) == [1.0, 1.0]


def test_a_batched_reward_gets_the_batch_as_trl_passes_it():
    assert variety()(prompts=["p"] * 4, completions=["a", "a", "b", "c"], completion_ids=[[1]] * 4) == [0.75] * 4


def test_a_function_that_takes_all_columns_gets_those_and_the_hooks():
    extra, metrics = {}, {}
    hooks = {"log_extra": extra.__setitem__, "log_metric": metrics.__setitem__, "trainer_state": object()}
    columns_seen(name="seen")(completions=["a"], solution=["4"], **hooks)
    assert extra == {"seen/names": ["log_extra,log_metric,solution,trainer_state"]}
    assert metrics == {"seen/count": 4}


def test_hooks_may_be_absent():
    logged = []
    hooks = {"trainer_state": {"step": 7}, "log_metric": lambda name, value: logged.append((name, value))}
    assert metric()(completions=["abc", "d"], **hooks) == [7.0, 7.0] and logged == [
        ("metric/length", 3),
        ("metric/length", 1),
    ]
    assert metric()(completions=["abc"], trainer_state={"step": 7}) == [7.0]
    with pytest.raises(ValueError, match="'metric' needs 'trainer_state', which GRPOTrainer passes but"):
        metric()(completions=["a"])


@pytest.mark.parametrize("function, said", [
    (lambda text: 1.0, "needs the column 'text'; found 'solution'. What the model wrote is the parameter 'completion'."),
    (lambda response, solution: 1.0, "column 'response'; .* What the model wrote is the parameter 'completion'."),
    (lambda completion, ground_truth: 1.0, r"'ground_truth'; .* Name it: other\(ground_truth='solution'\)."),
    (lambda completion, theme: 1.0, r"'theme'; .* Add it to the dataset, or name another one: other\(theme=...\)."),
])  # fmt: skip
def test_a_missing_column_has_the_one_remedy_that_fits(monkeypatch, function, said):
    monkeypatch.setattr(function, "__name__", "other")
    with pytest.raises(ValueError, match=said):
        RewardFactory(function, "completion")()(completions=["4"], solution=["4"])


def test_a_reward_among_the_options_arrives_as_its_score():
    call = {"completions": [r"\boxed{4}", r"\boxed{5}", "4"], "solution": ["4", "4", None]}
    assert doubled(boxed(partial=0.25))(**call) == [2.0, 0.5, None]
    assert doubled(boxed(), name="d")(**call, bonus=[1, 1, 1]) == [3.0, 1.0, None]
    assert best(of=boxed(partial=0.25))(**call) == [1.0, 0.0, 0.0]
    assert doubled(boxed()).columns == {"solution"}
    assert str(doubled(boxed())) == "doubled(boxed())"


def test_a_grouped_reward_gets_one_group_at_a_time():
    scores = rank_in_group(of=length(1, unit="chars"))(
        prompts=["4?"] * 2 + ["5?"] * 2 + ["4?"] * 2,
        completions=["a", "ab", "abc", "a", "ab", "a"],
        completion_ids=[[1]] * 5 + [[1] * 5],
        solution=["4", "4", "5", "5", "4", "4"],
    )
    assert scores == [1.1, 2.1, 2.1, 1.1, 2.1, 1.5]


@reward(grouped=True)
def sizes(prompt: str, completions: list, solution, unit: str = "m") -> list[float]:
    assert solution is None and unit is None
    return [float(len(completions))] * (1 if "few" in completions else len(completions))


def test_a_group_has_one_value_of_a_column_which_may_be_none():
    call = {"prompts": ["a", "a", "b", "b"], "completions": ["x"] * 4, "solution": [None] * 4, "unit": [None] * 4}
    assert sizes()(**call, share=[float("nan")] * 2 + [0.5] * 2) == [2.0] * 4
    for paid in ([0.1, 0.2, 0.3, 0.4], [0, 0, 0, 1]):
        with pytest.raises(ValueError, match="column 'paid' differs between completions of one prompt"):
            sizes()(**call, paid=paid)
    with pytest.raises(ValueError, match="Reward 'sizes' returned 1 scores for 2 completions"):
        sizes()(**{**call, "completions": ["x", "x", "x", "few"]})


def test_an_asynchronous_grouped_reward_shows_the_synchronous_door():
    call = {"prompts": ["a", "a", "b", "b"], "completions": ["x", "y", "xx", "z"]}
    value = gate(shared(), by=length(1, unit="chars"), otherwise=-1)
    assert value.is_grouped and value.is_async and not inspect.iscoroutinefunction(value.__call__)
    assert value(**call) == [2.0, 2.0, -1.0, 1.0]  # of the second group only one row is open

    async def notebook():  # where an event loop runs already
        return (shared() + 0.5 * shared(name="again"))(**call)

    assert asyncio.run(notebook()) == [3.0] * 4


def test_outside_a_trainer_no_process_group_is_touched(monkeypatch):
    import torch.distributed

    monkeypatch.delattr(torch.distributed, "is_initialized")
    assert shared()(prompts=["a", "a"], completions=["x", "y"]) == [2.0, 2.0]
    with pytest.raises(AttributeError, match="is_initialized"):
        shared()(prompts=["a", "a"], completions=["x", "y"], trainer_state={})


def test_packages_offer_rewards_by_entry_points(tmp_path, monkeypatch):
    (tmp_path / "theirs.py").write_text(
        "from trl_grpo_rewards import reward\n@reward\ndef theirs(completion):\n    return 3.0\n"
    )
    (info := tmp_path / "theirs-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trl_grpo_rewards]\ntheirs = theirs:theirs\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="There is no reward 'their'. Did you mean 'theirs'.* rewards are .*theirs"):
        parse("their")
    assert "theirs" not in REGISTRY
    assert parse("2 * theirs + boxed")(completions=["a"], solution=["4"]) == [6.0] and REGISTRY.pop("theirs")


@pytest.mark.parametrize("build, message", [
    (lambda: brackets(at_leest=2), "has no option 'at_leest'; its options are at_least=1, name=None. Did you mean 'at_least'"),
    (lambda: brackets(solution="4"), "has no option 'solution'; its options are .* Choose one of these"),
    (lambda: length(), r"'length': missing a required argument: 'target'. Its options are target, tol.* Write length\(target="),
    (lambda: length("256"), "Option 'target' of 'length' must be of type int; got '256'. Pass such a value"),
    (lambda: boxed("answer"), r"'partial' of 'boxed' must be of type float; got 'answer'. If it is .* boxed\(solution='answer'\)"),
    (lambda: length(9, tolerance=0.0), "Option 'tolerance' of 'length' must be of type int; got 0.0"),
    (lambda: length(9, unit="lines"), "of type Literal\\['tokens', 'words', 'chars'\\]; got 'lines'"),
    (lambda: tags("think", 3), "Option 'names' of 'tags' must be of type str; got 3."),
    (lambda: tags(names=("think",)), "has no option 'names'"),
    (lambda: gate(boxed(), by=tags), "Option 'by' of 'gate' contains the reward factory 'tags' instead of a reward. Call it"),
    (lambda: cosine(1.0, max_tokens=9), "Option 'by' of 'cosine' must be of type Reward; got 1.0"),
    (lambda: near(within={1, 2}), "Option 'within' of 'near' must be a number, .* other processes; got a set"),
    (lambda: near(1, currency=[1]), "must be of type dict \\| None"),
    (lambda: tags(["think", "answer"]), "Option 'names' of 'tags' must be of type str; got \\('think', 'answer'\\)"),
    (lambda: mixed_up(at_least=3), "'at_least' of 'mixed_up' .* got 3. .*, or declare 'at_least' after '\\*' to make it an option"),
    (lambda: boxed + tags("a"), "An expression contains the reward factory 'boxed' instead of a reward. Call it"),
    (lambda: route("task", {"a": boxed}), "Option 'rewards' of 'route' contains the reward factory 'boxed' instead of a reward"),
    (lambda: route("task", {"a": "boxed"}), "must be of type dict\\[Any, .*Reward\\]"),
    (lambda: route("task", boxed()), "Option 'rewards' of 'route' must be of type dict"),
    (lambda: clip(brackets()), "requires low, high or both, with low <= high; got low=None, high=None. Ch"),
    (lambda: clip(brackets(), low=1, high=0), "with low <= high; got low=1, high=0. Change"),
    *((lambda steps=steps: schedule(brackets(), steps=steps), "requires at least one point, at increasing steps from 0; got")
      for steps in ((), {5: 1.0, 4: 2.0}, ((5, 1.0), (5, 2.0)), ((-1, 1.0),))),
    (lambda: schedule(brackets(), steps=((0, 1.0, 2.0),)), r"must be of type tuple\[tuple\[int, float\], ...\]"),
    *((lambda found=found: boxed(solution=found), "'solution' of 'boxed' must be the name of a dataset column")
      for found in (4, ["4"], "", None, "completions")),
    (lambda: boxed(solution=column("gold")), r"got column\('gold'\). Write only the name: boxed\(solution='gold'\)"),
    (lambda: boxed(prompts="question"), "has no option 'prompts'.*The trainer passes 'prompts'"),
    (lambda: exact(soluton="answer"), "are case=False, solution='solution', name=None. Did you mean 'solution'"),
    *((lambda name=name: column(name), "must be the name of a dataset column; got .* Name the column")
      for name in ("", None, 3, "prompts", ["rubric"])),
    *((lambda number=number: near(within=number), "'within' of 'near' must be a finite number; got (nan|-inf)")
      for number in (float("nan"), float("-inf"))),
    (lambda: brackets(name=""), "The name of 'brackets' must be a non-empty string; got ''"),
    (lambda: boxed(completions=["c"], solution=["4"]), "factory 'boxed' instead of a reward. Call it with its options: boxed\\("),
    (lambda: brackets()(), "missing 1 required positional argument: 'completions'"),
])  # fmt: skip
def test_wrong_options_are_refused_when_the_reward_is_built(build, message):
    with pytest.raises((TypeError, ValueError), match=message):
        build()


@pytest.mark.parametrize("function, kind, message", [
    (lambda prompt, completions: 0, {}, "has the parameter 'completions', but scores one completion at a time"),
    (lambda completion: 0, {"batched": True}, "has the parameter 'completion', but scores a whole batch"),
    (lambda prompts: 0, {"grouped": True}, "has the parameter 'prompts', but scores a whole group. Use 'prompt' and 'comp"),
    (lambda completion, *, name: 0, {}, "must not declare the option 'name', which every reward has"),
    (lambda completion, *, log_metric=None: 0, {}, "declares 'log_metric' after '\\*', which makes it an option, but the trainer passes it. Declare"),
    (lambda: 0, {"batched": True, "grouped": True}, "must not be both batched and grouped"),
    (lambda completion: 0, {}, "stands above a function with the name '<lambda>', .* Give it a name with def."),
    ("short", {}, r"stand above a function; got 'short'. To name a reward, .*: mine\(name='short'\)."),
    (Reward, {}, "stand above a function; got <class '.*Reward'>"),
    (Reward.score, {}, r"'score' is a method with the parameter 'self'. Pass the method .*: reward\(scorer.score\)\(\)"),
])  # fmt: skip
def test_a_function_is_checked_when_it_is_registered(function, kind, message):
    with pytest.raises(TypeError, match=message):
        reward(function, **kind)
    assert "<lambda>" not in REGISTRY


def test_a_name_belongs_to_one_module():
    def module_with(name, factor):
        namespace = {"__name__": name, "reward": reward}
        exec(f"@reward\ndef taken(completion):\n    return float({factor})", namespace)
        return namespace["taken"]

    module_with("notebook", 1)
    newer = module_with("notebook", 2)  # the cell again
    assert parse("taken")(completions=["a"]) == newer()(completions=["a"]) == [2.0]
    with pytest.raises(ValueError, match="'taken' of elsewhere has the same name as one in notebook. Rename it."):
        module_with("elsewhere", 3)
    assert REGISTRY.pop("taken") is newer


def test_what_is_left_over_is_passed_as_the_dataset_has_it():
    @reward
    def left_over_of_one(completion: str, log_extra, **rest):
        log_extra(column="rest", value=rest)
        return 1.0

    @reward(grouped=True)
    def left_over_of_group(completions: list[str], **rest):
        return [float(rest["completion"] == 7 and rest["prompts"] == "p")] * len(completions)

    columns = {"prompts": ["p"], "completions": ["a"], "messages": [1], "prompt": [5], "completion": [7]}
    table = left_over_of_one().explain(**columns)
    assert table.logged["left_over_of_one/rest"] == [{"messages": 1, "prompt": 5}]
    assert left_over_of_group()(**columns) == [1.0]
