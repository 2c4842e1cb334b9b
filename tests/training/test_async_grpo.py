"""TRL's asynchronous worker with live groups only: scripted completions over HTTP in, live groups out. No vLLM runs here."""

import inspect
import itertools
import json
import os
import queue
from collections import Counter, defaultdict
from types import SimpleNamespace


os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import pytest
from transformers import AutoTokenizer, DefaultFlowCallback, TrainerControl, TrainerState
from transformers.trainer_callback import CallbackHandler
from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer
from trl.experimental.async_grpo import async_rollout_worker as trl_worker
from trl.experimental.async_grpo.async_grpo_trainer import _EpochStopCallback

from helpers.async_training import run_completion_server
from trl_grpo_rewards import appeal, boxed, column, demo, exact, instructions, keywords, tags
from trl_grpo_rewards.training.async_grpo import drop_dead_groups


GROUP = 4


@pytest.fixture
def server():
    """Problems with an even first number are always answered alike, others in turn."""
    turns = defaultdict(itertools.count)

    def complete(a, b):
        right = server.all_alike or a % 4 == 0 or (a % 2 == 1 and next(turns[a, b]) % 2 == 0)
        return f"\\boxed{{{a + b if right else 0}}}"

    with run_completion_server(complete) as server:
        server.all_alike = False
        yield server


@pytest.fixture
def make_trainer(server, tmp_path, monkeypatch):
    """TRL's trainer as far as it can be built without a GPU: its worker is whole, and it is never trained."""
    monkeypatch.setattr(trl_worker, "is_vllm_available", lambda: True)  # the worker asks, and speaks HTTP only
    made = []

    def make(reward_funcs, size=32):
        tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
        trainer = AsyncGRPOTrainer.__new__(AsyncGRPOTrainer)
        trainer.args = AsyncGRPOConfig(
            str(tmp_path), use_cpu=True, bf16=False, num_generations=GROUP, per_device_train_batch_size=8,
            gradient_accumulation_steps=1,
        )  # fmt: skip
        trainer.accelerator = SimpleNamespace(num_processes=1, device="cpu", reduce=lambda tensor, reduction: tensor)
        trainer._trained_groups, trainer._groups_before_resume, trainer._last_groups_trained = set(), 0, 0
        trainer.callback_handler = CallbackHandler(
            [DefaultFlowCallback(), _EpochStopCallback(trainer, size)], None, None, None, None
        )
        newer = "eos_token_ids" in inspect.signature(trl_worker._AsyncRolloutLoop.__init__).parameters  # from TRL 1.15
        trainer.rollout_worker = trl_worker.AsyncRolloutWorker(
            model_name="scripted", dataset=demo.arithmetic(size=size), reward_funcs=reward_funcs,
            processing_class=tokenizer, **({"eos_token_ids": [tokenizer.eos_token_id]} if newer else {}), num_generations=GROUP,
            max_inflight_tasks=16, queue_maxsize=16, vllm_server_url=server.url,
        )  # fmt: skip
        made.append(trainer.rollout_worker)
        return trainer

    yield make
    for worker in made:
        worker.stop()


def step(trainer):
    """What TRL's training loop tells the callbacks in a step."""
    control = TrainerControl()
    for event in ("on_optimizer_step", "on_step_end"):
        control = trainer.callback_handler.call_event(event, trainer.args, TrainerState(max_steps=1000), control)
    return control


@pytest.mark.slow
def test_live_groups_come_out_and_the_others_count_as_consumed(make_trainer):
    trainer = make_trainer([boxed(), 0.5 * tags("think")])
    drop_dead_groups(trainer)
    worker = trainer.rollout_worker
    worker.start()
    taken = defaultdict(list)
    while not step(trainer).should_training_stop:  # as TRL does at the end of an epoch, here of 32 groups
        sample = worker.rollout_buffer.get(timeout=60)
        taken[sample.group_id].append(sample)
        trainer._trained_groups.add(sample.group_id)
    prompts = demo.arithmetic(size=32)["prompt"]
    dead = {group for group in trainer._trained_groups if int(prompts[group % 32][0]["content"].split()[2]) % 2 == 0}
    assert len(dead) > 8 and trainer._trained_groups == dead | {*taken} and not dead & {*taken}
    assert 32 <= len(trainer._trained_groups) < 42 and max(dead) < max(taken)  # the worker is far ahead by now
    assert trainer._last_groups_trained == len(dead)
    whole = [samples for samples in taken.values() if len(samples) == GROUP]
    assert len(whole) > 8
    for samples in whole:
        assert sorted(one.metrics["reward"] for one in samples) == [0.0, 0.0, 1.0, 1.0]
        assert sorted(one.advantage for one in samples) == pytest.approx([-1, -1, 1, 1])
    shares = Counter()
    while not worker.metrics_queue.empty():
        for name, value in worker.metrics_queue.get_nowait().items():
            if name.startswith("groups/"):
                shares.update({name: value[0], "groups": value[1] / 3})
    assert shares["groups/dead"] == shares["groups/solved"] + shares["groups/failed"]
    assert shares["groups/solved"] > 0 < shares["groups/failed"]
    assert shares["groups/dead"] < shares["groups"]


@pytest.mark.slow
def test_prompts_are_drawn_selectively(make_trainer, tmp_path):
    """Even first numbers are always answered alike. After the first epoch, they are drawn less often."""
    trainer = make_trainer([boxed()])
    trainer._load_optimizer_and_scheduler = lambda checkpoint: None  # it has no optimizer
    drop_dead_groups(trainer, selective=True)
    worker = trainer.rollout_worker
    worker._loop_kwargs["dataset_start_index"] = 16  # as TRL does when it resumes
    trainer._load_optimizer_and_scheduler(str(tmp_path))  # a checkpoint without anything about prompts
    worker.start()
    groups = {}
    while max(groups, default=0) < 160:
        sample = worker.rollout_buffer.get(timeout=60)
        groups[sample.group_id] = sample.prompt
    prompts = demo.arithmetic(size=32)["prompt"]
    assert all(prompt == prompts[(16 + group) % 32] for group, prompt in groups.items() if group < 32)
    late = [group for group in groups if group >= 64]
    assert len([group for group in groups if group < 32]) / 32 < 0.7 < len(late) / (max(groups) - 63)
    worker.stop()


@pytest.mark.slow
def test_criteria_of_rows_products_and_appeals_are_scored_in_the_process_of_the_worker(make_trainer):
    """Answers are right or 0, and every second row wants the digit 0 in its answer."""
    rewards = [
        instructions(),
        boxed() * keywords(none=("?",)),
        appeal(exact(), to=boxed(), refused=True, numbers=True),
    ]
    trainer = make_trainer(rewards)
    kwargs = trainer.rollout_worker._loop_kwargs
    size = len(kwargs["dataset"])
    wanted = [[{"keywords": ["boxed{0}"]} if row % 2 else {"keywords": ["boxed"]}] for row in range(size)]
    kwargs["dataset"] = (
        kwargs["dataset"]
        .add_column("instruction_id_list", [["keywords:existence"]] * size)
        .add_column("kwargs", wanted)
    )
    drop_dead_groups(trainer)
    trainer.rollout_worker.start()
    samples = [trainer.rollout_worker.rollout_buffer.get(timeout=60) for _ in range(16)]
    scores = [tuple(sample.metrics[f"rewards/{reward.name}"] for reward in rewards) for sample in samples]
    assert {one[0] for one in scores} == {one[1] for one in scores} == {0.0, 1.0}
    assert all(len({*one[1:]}) == 1 for one in scores)
    trainer.rollout_worker.stop()


@pytest.mark.slow
def test_a_judge_with_rubrics_of_rows_grades_in_the_process_of_the_worker(make_trainer, chat_server):
    """A right answer has the row's own number, so the scripted judge meets the criterion that ends with it."""
    chat_server()
    trainer = make_trainer([chat_server.judge(rubric=column("rubric")), 0.5 * tags("think")])
    kwargs = trainer.rollout_worker._loop_kwargs
    rubrics = [
        [{"criterion": f"Says {answer}", "points": 3}, f"Says nothing{answer}"]
        for answer in kwargs["dataset"]["solution"]
    ]
    kwargs["dataset"] = kwargs["dataset"].add_column("rubric", [json.dumps(rubric) for rubric in rubrics])
    drop_dead_groups(trainer)
    trainer.rollout_worker.start()
    samples = [trainer.rollout_worker.rollout_buffer.get(timeout=60) for _ in range(8)]
    assert {sample.metrics["rewards/judge"] for sample in samples} == {0.0, 0.75}
    trainer.rollout_worker.stop()


def test_the_worker_is_given_what_is_known_of_prompts_before_training(make_trainer):
    trainer = make_trainer([boxed()])
    kwargs = trainer.rollout_worker._loop_kwargs
    kwargs["dataset"] = kwargs["dataset"].add_column("rate", [0.0, 0.5] * 16)
    drop_dead_groups(trainer, selective=True, selective_prior="rate")
    stream = trainer.rollout_worker._loop_cls.keywords["stream"]
    assert stream.predict_live(0) < 0.5 < stream.predict_live(1)


@pytest.mark.slow
def test_a_run_without_a_live_group_ends_with_a_clear_error(make_trainer, server):
    server.all_alike = True
    trainer = make_trainer([boxed()])
    drop_dead_groups(trainer, patience=6)
    worker = trainer.rollout_worker
    worker.start()
    message = (
        r"The last (\d+) groups were all dead \(\1 solved\), so .* prompts that the model sometimes answers right"
    )
    with pytest.raises(RuntimeError, match=message):
        while True:  # as TRL's trainer does, which asks after every five seconds without a sample
            with pytest.raises(queue.Empty):
                worker.rollout_buffer.get(timeout=0.1)
            worker.check_health(60)
    worker.stop()
    assert worker._process is None


def test_what_cannot_work_is_refused(make_trainer):
    trainer = make_trainer([boxed()])
    with pytest.raises(ValueError, match="requires a patience of at least 1; got 0. Set it to the number of"):
        drop_dead_groups(trainer, patience=0)
    with pytest.raises(ValueError, match="selective_prior='rate' must be a column of the dataset"):
        drop_dead_groups(trainer, selective=True, selective_prior="rate")
    with pytest.raises(ValueError, match="selective_prior='rate' requires selective=True; got selective=F"):
        drop_dead_groups(trainer, selective_prior="rate")
    worker = trainer.rollout_worker
    dataset, worker._loop_kwargs["dataset"] = worker._loop_kwargs["dataset"], iter([])
    with pytest.raises(ValueError, match="selective=True requires a dataset that can be indexed"):
        drop_dead_groups(trainer, selective=True)
    worker._loop_kwargs["dataset"] = dataset
    drop_dead_groups(trainer)
    with pytest.raises(TypeError, match="with another loop. Call .* only once, and leave out `rollout_worker`"):
        drop_dead_groups(trainer)
    trainer.rollout_worker = None  # as on every rank but the first
    drop_dead_groups(trainer)
