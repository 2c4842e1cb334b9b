"""DeepSpeed and FSDP on two CPU ranks: the parameters of TRL's trainer, of DDP, and of a run that was killed."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from runs import Runs, bundled, difference, free_port


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
    "ddp": {"distributed_type": "MULTI_GPU"},  # with MULTI_CPU, accelerate starts only one rank
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


def runs_under(engine: str, folder: Path) -> Runs:
    settings = {"compute_environment": "LOCAL_MACHINE", "mixed_precision": "no", "num_machines": 1}
    settings |= {"num_processes": 2, "use_cpu": False, "same_network": True, **ENGINES[engine]}
    (folder / "accelerate.json").write_text(json.dumps(settings))
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", free_port()]
    command = [*launcher, "--config_file", folder / "accelerate.json"]
    runs = Runs(folder, command, ranks=2, DS_ACCELERATOR="cpu", TORCH_EXTENSIONS_DIR=str(folder / "extensions"))
    runs.launch("trl", "skip", "trl-accumulated", "skip-accumulated", "keep-accumulated", "dead", "resample")
    return runs


@pytest.fixture(scope="session")
def ddp(tmp_path_factory):
    return runs_under("ddp", tmp_path_factory.mktemp("ddp", numbered=False))


@pytest.fixture(scope="session", params=["zero2", "zero3", "fsdp2"])
def engine(request, tmp_path_factory):
    if request.param != "fsdp2" and importlib.util.find_spec("deepspeed") is None:
        pytest.skip("deepspeed is not installed")
    return runs_under(request.param, tmp_path_factory.mktemp(request.param, numbered=False))


def test_both_ranks_train_under_the_engine(engine, ddp):
    for runs in (engine, ddp):
        logged = [runs.logged(name) for name in ("trl", "skip", "dead", "resample")]
        assert [one["world_size"] for one in logged] == [2] * 4
        assert {one["wrapped"] for one in logged} == {WRAPPED[runs.folder.name]}


@pytest.mark.parametrize("kind", ["", "-accumulated"])
def test_skip_moves_the_parameters_as_trl_does(engine, kind):
    """A step has all live rows on one rank, one a single live group, one none. Accumulated runs have two updates."""
    alive = [sum(call["alive"]) for call in engine.asked(f"skip{kind}")]
    assert alive == [0, 0, 0, 4, 8] + [8, 4, 0, 0, 8]  # on rank 0, and on rank 1
    assert engine.metric(f"skip{kind}", "groups/dead") == [0.5, 0.75, 1.0, 0.75, 0.0]
    assert engine.asked(f"skip{kind}") == engine.asked(f"trl{kind}")
    apart = difference(engine.weights(f"skip{kind}"), engine.weights(f"trl{kind}"))
    print("apart", f"{apart:.1e}")
    assert apart < 5e-5
    assert sum(engine.metric(f"skip{kind}", "groups/rows_computed")) < 16 * len(engine.metric(f"trl{kind}", "loss"))


def test_packing_moves_the_parameters_as_trl_does_with_fewer_passes(engine):
    """A sharded model is gathered in each pass, so the ranks need the same number of them."""
    apart = difference(engine.weights("keep-accumulated"), engine.weights("trl-accumulated"))
    passes = {name: engine.passes(f"{name}-accumulated") for name in ("trl", "keep", "skip")}
    print("apart", f"{apart:.1e}")
    print("passes", str(passes))
    assert apart < 5e-5
    assert all(one == other for one, other in passes.values())
    assert passes["skip"] < passes["keep"] <= passes["trl"]


def test_parameters_stay_equal_when_every_group_is_dead(engine):
    end = engine.weights("dead")
    assert engine.metric("dead", "groups/dead") == [1.0, 1.0]
    assert all(end[name].equal(weight) for name, weight in bundled().items())


def test_drop_with_resampling_moves_the_parameters_as_under_ddp(engine, ddp):
    assert max(engine.metric("resample", "groups/resample_rounds")) >= 1
    assert engine.asked("resample") == ddp.asked("resample")
    apart = difference(engine.weights("resample"), ddp.weights("resample"))
    print("apart", f"{apart:.1e}")
    assert apart < 5e-5


def test_a_killed_run_resumes_to_the_same_model(engine):
    """With resampling, the resumed run scores the same texts and ends with the same model."""
    engine.launch("whole", "killed", killed=True)
    assert not (engine.folder / "killed" / "model").exists() and (engine.folder / "killed" / "checkpoint-2").exists()
    engine.launch("resumed")
    assert {call["step"] for call in engine.asked("resumed")} == {2, 3}
    assert engine.asked("resumed") == engine.asked("whole", since=2)
    apart = difference(engine.weights("resumed"), engine.weights("whole"))
    print("apart", f"{apart:.1e}")
    assert apart < 1e-6
