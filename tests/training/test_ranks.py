"""Two ranks on gloo: whole groups for grouped rewards, and the trainer whatever is dead where."""

import asyncio
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch.distributed as dist
from transformers import TrainerCallback
from trl import GRPOTrainer

from helpers.chat_server import Scripted
from helpers.gradients import compare_drop
from helpers.metric_means import compare_means
from helpers.paths import SCRIPTS
from helpers.processes import build_environment, find_free_port
from helpers.ranks import (
    config,
    gather,
    have_one_model,
    launch_on_two_ranks,
    on_two_ranks,
    run_on_two_ranks,
    trainer_of,
)
from helpers.reward_functions import live_if_odd, mostly_dead
from helpers.runs import find_lists_of_ids, get_metric, read_contents
from trl_grpo_rewards import (
    FilteredGRPOTrainer,
    Reward,
    appeal,
    boxed,
    clip,
    code,
    column,
    demo,
    exact,
    gate,
    instructions,
    keywords,
    length,
    ranking,
    reward,
    route,
    share,
    shortest,
)
from trl_grpo_rewards.errors import CheckpointMismatch
from trl_grpo_rewards.judging.verdicts import is_trivial
from trl_grpo_rewards.records.files import read_records
from trl_grpo_rewards.records.held_out import read_held_out
from trl_grpo_rewards.texts import completion_text, strip_reasoning
from trl_grpo_rewards.training import checkpoints


SEEN: list[tuple[str, str, list[str]]] = []
TRAINERS = GRPOTrainer, FilteredGRPOTrainer


@reward(grouped=True)
def relative(prompt: str, completions: list[str], solution: str, log_extra, log_metric) -> list[float]:
    """How much shorter a completion is than the longest of its group."""
    SEEN.append((prompt, solution, completions))
    log_extra("members", [len(completions)] * len(completions))
    log_metric("groups", 1)
    return [max(map(len, completions)) - len(completion) for completion in completions]


@reward(grouped=True)
async def compared(prompt: str, completion_ids: list[list[int]], *, delay: float = 0.0) -> list[float]:
    await asyncio.sleep(delay)
    return [sum(sum(ids) < sum(others) for others in completion_ids) for ids in completion_ids]


@reward
def on_rank_zero(completion: str) -> float:
    return float(dist.get_rank() == 0)


@reward(grouped=True)
def best_of(prompt: str, completions: list[str], *, by: Reward, fail_on: int = -1) -> list[float]:
    if dist.get_rank() == fail_on:
        raise RuntimeError("out of order")
    return [float(score == max(by)) for score in by]


def read_table(trainer) -> dict[str, list]:
    """Return the rewards and the columns of TRL's table of completions, by name, and the texts."""
    columns = {
        **trainer._logs["rewards"],
        **trainer._logs["extra"],
        "texts": map(completion_text, trainer._logs["completion"]),
    }
    return {name: list(values) for name, values in columns.items()}


def in_groups(values: list) -> list[list]:
    return [values[start : start + 4] for start in range(0, len(values), 4)]


# --- grouped rewards


@on_two_ranks
def test_ranks_see_whole_groups_in_both_trainers(folder):
    total = (
        relative()
        + compared(delay=0.05)
        + compared(delay=0.0, name="quick")
        + gate(relative(name="gated"), by=keywords(any=("1",)), otherwise=-1)
        + route("solution", {"none": boxed()}, default=clip(best_of(by=compared()), high=0.5), name="routed")
    )
    for cls in TRAINERS:
        trainer = trainer_of(cls, folder, total, max_steps=2, log_completions=True)
        SEEN.clear()
        trainer.train()
        table, calls = read_table(trainer), sum(gather(SEEN), [])
        assert gather(table) == [table, table]
        groups = in_groups(table["texts"])

        # relative: plain, with one whole group a call, on exactly one rank
        whole = [texts for _, _, texts in calls if len(texts) == 4]
        assert len(whole) == 6 and all(group in whole for group in groups)  # two steps of three groups
        assert all(int(solution) == sum(map(int, re.findall(r"\d+", prompt))) for prompt, solution, _ in calls)
        assert table["relative"] == [max(map(len, g)) - len(text) for g in groups for text in g]
        assert table["relative/members"] == [4] * 12

        # compared: async, two in one sum, of which the second is done first
        assert table["compared"] == table["quick"] and any(score > 0 for score in table["compared"])
        assert all(min(scores) == 0 for scores in in_groups(table["compared"]))

        # gated: only the open rows of each group
        for group, scores, members in zip(
            groups, in_groups(table["gated"]), in_groups(table["gated/members"]), strict=True
        ):
            opened = [text for text, score in zip(group, scores, strict=True) if score >= 0]
            assert members == [len(opened) if score >= 0 else None for score in scores]
            assert [score for score in scores if score >= 0] == [max(map(len, opened)) - len(t) for t in opened]

        # routed: grouped over grouped, behind a route and a clip
        for scores, routed in zip(in_groups(table["compared"]), in_groups(table["routed"]), strict=True):
            assert routed == [0.5 * (score == max(scores)) for score in scores]

        # in evaluation: six prompts, each whole, none twice
        SEEN.clear()
        metrics = trainer.evaluate()
        calls = [call for call in sum(gather(SEEN), []) if len(call[2]) == 4]
        assert len(calls) == len({prompt for prompt, _, _ in calls}) == 6
        mean = sum(max(map(len, texts)) - len(text) for _, _, texts in calls for text in texts) / 24
        assert metrics["eval_rewards/relative/mean"] == pytest.approx(mean, abs=1e-4)
        if cls is FilteredGRPOTrainer and dist.get_rank() == 0:  # which writes the scores of all ranks' problems
            *_, scores = read_held_out(trainer.args.output_dir, last=2)
            assert len(scores) == 6
            assert sum(scores.values()) / 6 == pytest.approx(mean, abs=1e-4)


@on_two_ranks
def test_ranks_without_an_open_row_take_part(folder):
    """Rows are scored where their group is owned, so that a rank may have none that is open."""
    trainer = trainer_of(FilteredGRPOTrainer, folder, gate(relative(), by=on_rank_zero(), otherwise=-1.0), max_steps=2)
    trainer.train()
    scores = [*trainer._logs["rewards"]["relative"]]
    assert gather(len(SEEN)) == [4, 0]  # two of three groups belong to rank 0, for two steps
    assert gather(scores) == [scores, scores]
    assert [score == -1.0 for score in scores] == [False] * 4 + [True] * 4 + [False] * 4


@on_two_ranks
def test_ranks_stop_together_when_a_grouped_reward_raises_on_one(folder):
    trainer, start = trainer_of(GRPOTrainer, folder, [best_of(by=compared(), fail_on=1)]), time.monotonic()
    with pytest.raises(Exception) as caught:
        trainer.train()
    assert time.monotonic() - start < 60
    if dist.get_rank():
        assert caught.type is RuntimeError and str(caught.value) == "out of order"
        assert caught.value.__notes__ == ["(raised in the reward best_of(compared(), fail_on=1))"]
    else:
        said = "A reward failed on rank 1: RuntimeError: out of order (raised in the reward best_of"
        assert str(caught.value).startswith(said)


@on_two_ranks
def test_terms_that_need_whole_groups_and_terms_of_weight_0_go_together(folder):
    total = share(keywords(any=("1",))) + appeal(keywords(all=("no",)), to=on_rank_zero(), refused=True, budget=0.5)
    total += 0 * relative() + 0 * compared()
    trainer = trainer_of(FilteredGRPOTrainer, folder, total, model=demo.MODEL, max_steps=3, log_completions=True)
    trainer.train()
    assert all(len({*shares}) == 1 for shares in in_groups(read_table(trainer)["share"]))
    assert all(0 < entry["keywords/appeal/asked"] <= 3 for entry in trainer.state.log_history if "reward" in entry)


@on_two_ranks
def test_ranks_score_by_the_criteria_of_their_rows_as_a_call_does(folder):
    """Constraints of each row, a product and an appeal, under both trainers."""
    rewards = [instructions(partial=True), boxed() * length(8, unit="words"), appeal(exact(), to=on_rank_zero())]
    data = demo.arithmetic("train", size=32)
    lists = [["punctuation:no_comma", "length_constraints:number_words"][: 1 + row % 2] for row in range(32)]
    words = [[{}, {"num_words": 1 + row % 9, "relation": "at least"}][: 1 + row % 2] for row in range(32)]
    data = data.add_column("instruction_id_list", lists).add_column("kwargs", words)
    options = {"max_steps": 2, "log_completions": True, "max_completion_length": 24, "model": demo.MODEL}
    for cls in TRAINERS:
        trainer = trainer_of(cls, folder, rewards, data, **options)
        trainer.train()
        prompts, texts = ([*trainer._logs[name]] for name in ("prompt", "completion"))
        rows = [next(row for row in data if row["prompt"][-1]["content"] in str(text)) for text in prompts]
        call = {name: [row[name] for row in rows] for name in ("instruction_id_list", "kwargs", "solution")}
        logged, called = read_table(trainer), [reward(completions=texts, **call) for reward in rewards]
        for one, scores in zip(rewards, gather(called)[0], strict=True):
            assert logged[one.name] == [pytest.approx(score) for score in scores] and len({*scores}) > 1


@on_two_ranks
def test_ranks_run_the_same_programs(folder):
    """Programs are run next to a grouped reward, for which whole groups are gathered."""
    rewards = code() + 0.1 * shortest(code(), name="brief")
    options = {"per_device_train_batch_size": 12, "num_generations": 8, "max_completion_length": 64, "max_steps": 2}
    trainer = trainer_of(FilteredGRPOTrainer, folder, rewards, demo.programs(), model=demo.CODER, **options)
    trainer.train()
    scores = read_table(trainer)["code"]
    assert gather(scores) == [scores, scores] and len(scores) == 24 and 0 < sum(scores) < 24
    assert [entry["code/failures"] for entry in trainer.state.log_history if "code/runs" in entry] == [0, 0]
    assert dist.get_rank() or any("logged" in record for record in read_records(trainer.args.output_dir))


def ask_judges(folder, port) -> None:
    """Two judges and a ranking in one sum, under both trainers."""
    server = Scripted(port)
    total = server.judge(max_concurrency=4) + server.judge(name="kind", rubric="Is it kind?") + server.judge(ranking)
    for cls in TRAINERS:
        options = {"log_completions": True, "max_completion_length": 48}  # so that answers follow the reasoning
        trainer = trainer_of(cls, folder, total, model=demo.MODEL, **options)
        trainer.train()
        table, logged = read_table(trainer), trainer.state.log_history[0]
        answers = [None if is_trivial(answer) else answer for answer in map(strip_reasoning, table["texts"])]
        calls = [logged[f"{name}/calls"] for name in ("judge", "kind", "ranking")]
        assert gather((table, calls)) == [(table, calls)] * 2
        # the server scores a text by its length, those that are equal alike, and each group in one call
        assert table["ranking"] == [pytest.approx(len(text or "") % 11 / 10) for text in answers] and any(answers)
        assert table["judge"] == table["kind"] == [pytest.approx(0.2 if text else 0.0) for text in answers]
        halves = [len({*filter(None, answers[start : start + 6])}) for start in (0, 6)]
        assert table["ranking/reason"] == ["by length" if text else "nothing to grade" for text in answers]
        assert calls == [pytest.approx(sum(halves) / 2)] * 2 + [1]


@pytest.mark.slow
def test_ranks_ask_judges_about_whole_groups(tmp_path, chat_server):
    chat_server(latency=0.02)
    run_on_two_ranks(ask_judges, tmp_path, chat_server.root.rpartition(":")[2])
    assert chat_server.most <= 64 + 4


def ask_by_rows(folder, port) -> None:
    """A judge with a rubric of each row."""
    rewards = Scripted(port).judge(rubric=column("rubric")) + 0.1 * boxed()
    rubrics = [
        [{"criterion": f"Has {row} or {digit}", "points": 1 + digit} for digit in range(8)] for row in range(32)
    ]
    data, options = (
        demo.arithmetic("train", size=32).add_column("rubric", rubrics),
        {"max_steps": 2, "log_completions": True, "max_completion_length": 48},
    )
    trainer = trainer_of(FilteredGRPOTrainer, folder, rewards, data, model=demo.MODEL, **options)
    trainer.train()
    table = read_table(trainer)
    groups = in_groups(table["judge/verdicts"])
    assert gather(table) == [table, table]
    assert [entry["judge/unreadable"] for entry in trainer.state.log_history if "judge/unreadable" in entry] == [0, 0]
    groups = [[text for text in group if text] for group in groups]  # without completions that have no answer
    assert len(groups) in (3, 6) and all(groups)
    asked = [{re.sub("not met|met", "", text) for text in group} for group in groups]  # the second straddles the ranks
    assert all(len(texts) == 1 and texts.copy().pop().count("\n") == 7 for texts in asked)
    assert len({*map(frozenset, asked)}) == len(groups)
    for text, score in zip(table["judge/verdicts"], table["judge"], strict=True):
        if not text:
            assert score == 0.0
            continue
        points = [(bool(negated), int(value)) for negated, value in re.findall(r"(not )?met \(\+(\d+)\)", text)]
        met = sum(value for negated, value in points if not negated)
        assert score == pytest.approx(met / sum(value for _, value in points))


@pytest.mark.slow
def test_ranks_hide_the_same_criteria_from_a_group(tmp_path, chat_server):
    run_on_two_ranks(ask_by_rows, tmp_path, chat_server().root.rpartition(":")[2])


# --- dead groups


PATTERNS: Iterator = iter(())


def scripted(prompts, completions, **kwargs):
    """What the pattern of this batch says for each row of this rank: None, dead or alive."""
    kinds, worth = next(PATTERNS)[dist.get_rank()], {"none": None, "dead": 0.7}
    assert len(kinds) == len(completions)
    return [worth.get(kind, float(row)) for row, kind in enumerate(kinds)]


def make_patterns() -> list[list[list[str]]]:
    rng = random.Random(0)
    fixed = [
        [["dead"] * 6, ["dead"] * 6],
        [["none"] * 6, ["none"] * 6],
        [["dead"] * 6, ["live"] * 6],
        [["live"] * 6, ["dead"] * 6],
        [["dead"] * 5 + ["live"], ["dead"] * 6],
        [["none"] * 6, ["none"] * 5 + ["live"]],
    ]
    return fixed + [[rng.choices(["none", "dead", "live"], k=6) for _ in range(2)] for _ in range(6)]


class CheckModels(TrainerCallback):
    """Checks after each generation of three steps that both ranks have one model."""

    def on_step_end(self, args, state, control, model=None, **kwargs):
        assert state.global_step % 3 or have_one_model(self.trainer)


@on_two_ranks
def test_ranks_end_with_one_model_whatever_is_dead_where(folder):
    global PATTERNS
    options = {"learning_rate": 0.01, "gradient_accumulation_steps": 1, "max_completion_length": 4}
    options |= {"per_device_train_batch_size": 2, "steps_per_generation": 3, "lr_scheduler_type": "constant"}
    for first, loss in enumerate(("dapo", "grpo")):
        chosen = make_patterns()[first::2]
        PATTERNS, callback = iter(chosen), CheckModels()
        options |= {"loss_type": loss, "max_steps": 3 * len(chosen)}
        callback.trainer = trainer_of(FilteredGRPOTrainer, folder, scripted, **options)
        callback.trainer.add_callback(callback)
        callback.trainer.train()


@on_two_ranks
def test_ranks_gradient_of_drop_is_that_of_the_live_groups_alone(folder):
    problems = demo.arithmetic("train", size=64)
    for loss in ("dapo", "grpo", "luspo"):
        options = {"gradient_accumulation_steps": 2, "max_steps": 2, "loss_type": loss}
        assert compare_drop(partial(config, folder), problems, **options) <= 1e-6


@on_two_ranks
def test_what_is_logged_of_micro_batches_is_the_mean_over_both_ranks(folder):
    problems, make = demo.arithmetic("train", size=64), partial(config, folder)
    options = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 6}
    for more in (
        {"zero_variance": "drop", "beta": 0.1},
        {"loss_type": "grpo", "importance_sampling_level": "sequence"},
    ):
        found, names = compare_means(make, problems, **options, **more)
        assert found <= 1e-6 and "entropy" in names and any("clip" in name for name in names)


@on_two_ranks
def test_ranks_resample_together(folder):
    """A batch is filled from rounds in which all ranks take part, and all have the same rows to compute."""
    options = {"zero_variance": "drop", "max_resample_rounds": 20, "max_steps": 4, "learning_rate": 0.01}
    trainer = trainer_of(FilteredGRPOTrainer, folder, [mostly_dead], gradient_accumulation_steps=1, **options)
    trainer.train()
    assert have_one_model(trainer)  # after which the main process has written its records
    rounds, taken = get_metric(trainer, "resample_rounds"), trainer._prompts.position
    assert gather((rounds, taken)) == [(rounds, taken)] * 2 and min(rounds) >= 1 and taken > 0
    assert get_metric(trainer, "rows_computed") == [12.0] * 4
    assert [int(part["completion_mask"].any(1).sum()) for part in trainer._buffered_inputs] == [6]
    (file,) = folder.glob("*/groups/*.jsonl")  # of the main process alone
    lines = [*read_records(file)]
    assert 4 * 3 < len(lines) <= 4 * 3 + taken and {len(line["completions"]) for line in lines} == {4}
    live = [line["step"] for line in lines if line["outcome"] == "live"]
    assert all(live.count(step) >= 3 for step in (1, 2, 3, 4))


# --- records


class Gathered:
    """Notes what the object collectives of torch bring to this rank: how many bytes, and whether token ids."""

    def __init__(self, monkeypatch):
        self.size, self.has_ids, self.to_main = 0, False, 0
        everywhere, to_one = dist.all_gather_object, dist.gather_object

        def all_gather_object(parts, value, *args, **kwargs):
            everywhere(parts, value, *args, **kwargs)
            self.note(parts)

        def gather_object(value, parts=None, *args, **kwargs):
            to_one(value, parts, *args, **kwargs)
            self.to_main += 1
            if parts is not None:
                self.note(parts)

        monkeypatch.setattr(dist, "all_gather_object", all_gather_object)
        monkeypatch.setattr(dist, "gather_object", gather_object)

    def note(self, parts: list) -> None:
        self.size += len(pickle.dumps(parts))
        given = [*map(list, Held.given)]
        self.has_ids |= any(value in given for part in parts if isinstance(part, list) for value in part)


class Held(TrainerCallback):
    """Checks that this rank holds no completions as lists of token ids at the end of a step."""

    given: set = set()

    def on_step_end(self, args, state, control, **kwargs):
        assert not find_lists_of_ids(self.given)


def tokens(completion_ids, **kwargs):
    Held.given.update(map(tuple, completion_ids))
    return [float(sum(ids)) for ids in completion_ids]


@on_two_ranks
def test_ranks_send_records_to_the_rank_that_writes_them_and_keep_nothing(folder):
    """Runs with records, without, and with a disk that fails."""
    sizes, is_main = {}, dist.get_rank() == 0
    for name in ("on", "off", "lost"):
        with pytest.MonkeyPatch.context() as patch:
            output = folder / name
            output.mkdir(exist_ok=True)
            if name == "lost":
                (output / "groups").write_text("in the way")
            options = {"group_records": name != "off", "max_steps": 2, "max_completion_length": 3, "model": demo.MODEL}
            trainer = trainer_of(FilteredGRPOTrainer, folder, [tokens], output_dir=str(output), **options)
            gathered = Gathered(patch)
            trainer.add_callback(Held())
            trainer.train()
        sizes[name] = gathered.size
        assert not gathered.has_ids and (output / "groups").is_file() == (name == "lost")
        assert gathered.to_main == 0 if name == "off" else name == "lost" or gathered.to_main == 2  # once in each step
        if name == "on":
            logged = get_metric(trainer, "duplicates")
    lines, decode = gather([*read_records(folder / "on")] if is_main else [])[0], trainer.processing_class.batch_decode
    assert (sizes["on"] > sizes["off"]) == is_main and gather(sizes["off"])[0] == gather(sizes["off"])[1]
    assert is_main or len({*sizes.values()}) == 1
    assert [(line["step"], line["group"]) for line in lines] == [
        (step, group) for step in (1, 2) for group in (0, 1, 2)
    ]
    for line in lines:
        texts = [completion_text(one) for one in line["completions"]]
        assert len(texts) == 4 and texts == decode(line["completion_ids"], skip_special_tokens=True)
    for step, share_of_step in enumerate(logged, 1):  # groups straddle the ranks, and so do their duplicates
        assert share_of_step == pytest.approx(sum(line["duplicates"] for line in lines if line["step"] == step) / 12)
    assert sum(logged) > 0


# --- checkpoints


@on_two_ranks
def test_ranks_refuse_a_checkpoint_together_and_the_first_one_warns_of_a_random_state(folder):
    """A run of one step that is resumed without the random state of rank 1, and then without the optimizer."""
    said, is_main = [], dist.get_rank() == 0
    checkpoints.logger.warning = said.append
    options = {"output_dir": str(folder), "save_strategy": "steps", "save_steps": 1}
    for step, part in enumerate(["", "rng_state_1.pth", "optimizer.pt"]):
        if part and is_main:
            (folder / "checkpoint-1" / part).unlink()
        dist.barrier()
        trainer = trainer_of(FilteredGRPOTrainer, folder, [mostly_dead], max_steps=step + 1, **options)
        checkpoint = str(folder / "checkpoint-1") if part else None
        if part != "optimizer.pt":
            trainer.train(resume_from_checkpoint=checkpoint)
    with pytest.raises(CheckpointMismatch, match="it has no optimizer.pt, .* Resume '.*checkpoint-2'"):
        trainer.train(resume_from_checkpoint=checkpoint)
    assert len(said) == is_main
    assert all("it has no rng_state_1.pth, so other completions are sampled" in text for text in said)


class Kill(TrainerCallback):
    """Kills its rank in the third step after a checkpoint, if the folder asks for that."""

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == args.save_steps + 2 and Path(args.output_dir, "kill").exists():
            os.kill(os.getpid(), signal.SIGKILL)


WHOLE = {"zero_variance": "skip", "max_resample_rounds": 0}
FRESH = {"per_device_train_batch_size": 10, "num_iterations": 2, "max_steps": 8, "save_steps": 4, "seed": 4}
RESUMED = {
    "in TRL's order, in the second epoch": (mostly_dead, 3, 7, {**WHOLE, "max_steps": 7, "size": 7}),
    "with fresh prompts": (live_if_odd, 4, 8, FRESH),
}  # fmt: skip
"""The reward, the steps of the first and the last checkpoint, and options."""


def resume(folder, case) -> dict:
    """Run, or go on from the checkpoint, in a process that has run nothing before."""
    func, _, _, options = RESUMED[case]
    options = {"zero_variance": "drop", "max_resample_rounds": 5, "learning_rate": 0.01, "save_steps": 3, **options}
    options |= {"save_strategy": "steps", "gradient_accumulation_steps": 1, "output_dir": str(folder)}
    trainer = trainer_of(FilteredGRPOTrainer, folder, [func], **options)
    trainer.add_callback(Kill())
    trainer.train(resume_from_checkpoint=any(folder.glob("checkpoint-*")))
    weights = [parameter.double().sum().item() for parameter in trainer.model.parameters()]
    stream = trainer._prompts
    return {"weights": weights, "position": stream and stream.position}


@pytest.mark.slow
@pytest.mark.parametrize("case", RESUMED)
def test_ranks_that_are_killed_resume_with_the_same_prompts(tmp_path, case):
    whole, parted, (_, first, last, _) = tmp_path / "whole", tmp_path / "parted", RESUMED[case]
    (parted / "runs").mkdir(parents=True)
    whole.mkdir()
    one, other = run_on_two_ranks(resume, whole, case)
    assert one == other and (one["position"] or "TRL" in case)
    (parted / "runs" / "kill").touch()
    assert launch_on_two_ranks(resume, parted, case) == [-signal.SIGKILL] * 2
    assert [folder.name for folder in (parted / "runs").glob("checkpoint-*")] == [f"checkpoint-{first}"]
    (parted / "runs" / "kill").unlink()
    assert run_on_two_ranks(resume, parted, case) == [one, other]
    assert (parted / "runs" / f"checkpoint-{last}").exists()
    assert read_contents(parted / "runs") == read_contents(whole / "runs")


@pytest.mark.slow
def test_ranks_train_the_bundled_task_by_the_script(tmp_path):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port"]
    script = [str(SCRIPTS / "train.py"), "--max_steps", "1", "--eval_prompts", "4", "--no_check", "--import", "census"]
    (tmp_path / "census.py").write_text(
        "import torch.distributed as dist\nfrom trl_grpo_rewards import reward\n\n@reward\n"
        "def ranks(completion):\n    return float(dist.get_world_size())\n"
    )
    rewards = [
        "--rewards",
        "boxed(evaluated=True, name='accuracy') + ranks()",
        "--per_device_train_batch_size",
        "8",
        "--max_completion_length",
        "24",
    ]
    command, options = [*launcher, str(find_free_port()), *script, *rewards], {"capture_output": True, "text": True}
    run = subprocess.run(command, cwd=tmp_path, env=build_environment(), timeout=600, **options)
    assert run.returncode == 0, run.stderr[-4000:]
    assert run.stdout.count("held-out problems  ") == 1 and "find_unused_parameters" not in run.stderr
    assert "samples 2 prompts with 8 completions each (16, 8 in each process)" in run.stdout
    assert re.search(r"^ranks +2.000 +2.000 ", run.stdout, re.MULTILINE)
    assert (tmp_path / "runs/addition/model.safetensors").exists()
