"""DeepSpeed and FSDP on two CPU ranks with gloo: parameters beside TRL's, beside DDP's, and after a kill."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from processes import HERE, free_port, run, tail


pytest.importorskip("torch")
from safetensors.torch import load_file  # noqa: E402

from trl_grpo_rewards import demo  # noqa: E402


FSDP = {
    "fsdp_version": 2,
    "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "fsdp_cpu_ram_efficient_loading": False,
    "fsdp_offload_params": False,
    "fsdp_reshard_after_forward": True,
    "fsdp_state_dict_type": "FULL_STATE_DICT",
}


def zero(stage: int) -> dict:
    return {
        "zero_stage": stage,
        "zero3_init_flag": stage == 3,
        "zero3_save_16bit_model": True,
        "offload_optimizer_device": "none",
        "offload_param_device": "none",
    }


ENGINES = {
    "ddp": {"distributed_type": "MULTI_GPU"},  # with MULTI_CPU accelerate starts one rank
    "zero2": {"distributed_type": "DEEPSPEED", "deepspeed_config": zero(2)},
    "zero3": {"distributed_type": "DEEPSPEED", "deepspeed_config": zero(3)},
    "fsdp2": {"distributed_type": "FSDP", "fsdp_config": FSDP},
}
WRAPPED = {
    "ddp": "DistributedDataParallel",
    "zero2": "DeepSpeedEngine",
    "zero3": "DeepSpeedEngine",
    "fsdp2": "FSDPQwen3ForCausalLM",
}


class Runs:
    """What the runs of sharded.py under one engine left behind."""

    def __init__(self, engine: str, folder: Path):
        self.engine, self.folder, self.log = engine, folder, folder / "log.txt"

    def launch(self, *names: str, killed: bool = False) -> None:
        settings = {"compute_environment": "LOCAL_MACHINE", "mixed_precision": "no", "num_machines": 1}
        settings |= {"num_processes": 2, "use_cpu": False, "same_network": True, **ENGINES[self.engine]}
        (self.folder / "accelerate.json").write_text(json.dumps(settings))
        launcher = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", free_port()]
        command = [*launcher, "--config_file", self.folder / "accelerate.json", HERE / "sharded.py", self.folder]
        extensions = str(self.folder / "extensions")
        status = run([*command, *names], self.log, DS_ACCELERATOR="cpu", TORCH_EXTENSIONS_DIR=extensions)
        assert (status != 0) == killed, tail(self.log)

    def logged(self, name: str) -> dict:
        return json.loads((self.folder / name / "log.json").read_text())

    def metric(self, name: str, metric: str) -> list[float]:
        return [entry[metric] for entry in self.logged(name)["history"] if metric in entry]

    def asked(self, name: str, since: int = 0) -> list[dict]:
        """What the reward was asked from a step on, in the order of the ranks."""
        lines = [line for rank in "01" for line in (self.folder / name / f"{rank}.jsonl").read_text().splitlines()]
        return [call for line in lines if (call := json.loads(line))["step"] >= since]

    def weights(self, name: str) -> dict:
        files = (self.folder / name / "model").glob("*.safetensors")
        return {key: weight.float() for file in files for key, weight in load_file(file).items()}


def difference(one: dict, other: dict) -> float:
    """How far the parameters of two runs are apart, as a share of what the second has learned."""
    start = load_file(Path(demo.MODEL, "model.safetensors"))
    apart = sum((one[key] - other[key]).square().sum() for key in start) ** 0.5
    learned = sum((other[key] - weight.float()).square().sum() for key, weight in start.items()) ** 0.5
    return float(apart / learned)


def runs_under(engine: str, folder: Path) -> Runs:
    runs = Runs(engine, folder)
    runs.launch("trl", "skip", "trl-accumulated", "skip-accumulated", "dead", "resample")
    return runs


@pytest.fixture(scope="session")
def ddp(tmp_path_factory):
    return runs_under("ddp", tmp_path_factory.mktemp("ddp"))


@pytest.fixture(scope="session", params=["zero2", "zero3", "fsdp2"])
def engine(request, tmp_path_factory):
    if request.param != "fsdp2" and importlib.util.find_spec("deepspeed") is None:
        pytest.skip("deepspeed is not installed")
    return runs_under(request.param, tmp_path_factory.mktemp(request.param))


def test_both_ranks_train_under_the_engine(engine, ddp):
    for runs in (engine, ddp):
        logged = [runs.logged(name) for name in ("trl", "skip", "dead", "resample")]
        assert [one["world_size"] for one in logged] == [2] * 4
        assert [one["wrapped"] for one in logged] == [WRAPPED[runs.engine]] * 4


@pytest.mark.parametrize("kind", ["", "-accumulated"])
def test_skip_moves_the_parameters_as_trl_does(engine, kind, record_property):
    """With all live rows on one rank, with one live group, with a wholly dead step; in one micro-batch and in four."""
    assert engine.metric(f"skip{kind}", "groups/dead") == [0.5, 0.75, 1.0, 0.75, 0.0]
    assert engine.asked(f"skip{kind}") == engine.asked(f"trl{kind}")
    apart = difference(engine.weights(f"skip{kind}"), engine.weights(f"trl{kind}"))
    record_property("apart", f"{apart:.1e}")
    assert apart < 5e-5
    assert sum(engine.metric(f"skip{kind}", "groups/rows_computed")) < 16 * len(engine.metric(f"trl{kind}", "loss"))


def test_nothing_is_learned_where_every_group_is_dead(engine):
    start, end = load_file(Path(demo.MODEL, "model.safetensors")), engine.weights("dead")
    assert engine.metric("dead", "groups/dead") == [1.0, 1.0]
    assert all(end[name].equal(weight.float()) for name, weight in start.items())


def test_drop_with_resampling_moves_the_parameters_as_under_ddp(engine, ddp, record_property):
    assert max(engine.metric("resample", "groups/resample_rounds")) >= 1
    assert engine.asked("resample") == ddp.asked("resample")
    apart = difference(engine.weights("resample"), ddp.weights("resample"))
    record_property("apart", f"{apart:.1e}")
    assert apart < 5e-5


def test_a_killed_run_goes_on_as_if_it_had_not_been(engine, record_property):
    """With resampling and selective drawing: the same completions are scored, and the same model comes out."""
    engine.launch("whole", "killed", killed=True)
    assert not (engine.folder / "killed" / "model").exists() and (engine.folder / "killed" / "checkpoint-2").exists()
    engine.launch("resumed")
    assert {call["step"] for call in engine.asked("resumed")} == {2, 3}
    assert engine.asked("resumed") == engine.asked("whole", since=2)
    apart = difference(engine.weights("resumed"), engine.weights("whole"))
    record_property("apart", f"{apart:.1e}")
    assert apart < 1e-6
