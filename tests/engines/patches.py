"""All that is changed outside this project so that the engines run without a GPU, one function a change, each with its reason."""

import importlib
import os


def run_sharded_on_cpu() -> None:
    """
    accelerate runs neither DeepSpeed nor FSDP without an accelerator: with `use_cpu` it falls back to DDP, without it
    it finds no backend and starts one rank. Name gloo and the CPU where it finds none.
    """
    import torch
    from accelerate.state import DistributedType, PartialState

    find = PartialState._prepare_backend

    def prepare_backend(self, cpu=False, sagemaker_dp=False, backend=None):
        found, kind = find(self, cpu, sagemaker_dp, backend)
        if kind is DistributedType.NO and not cpu and "LOCAL_RANK" in os.environ:
            return "gloo", DistributedType.MULTI_GPU
        return found, kind

    def set_device(self):
        self.device = self.device or torch.device("cpu")

    PartialState._prepare_backend, PartialState.set_device = prepare_backend, set_device


def use_gloo_in_deepspeed() -> None:
    """
    DeepSpeed compiles an operator for reductions in shared memory when it first runs on a CPU, for a minute or two. Keep
    to gloo, which it falls back to.
    """
    backend = importlib.import_module("deepspeed.comm.torch")  # as an attribute it is torch itself
    backend.build_shm_op = lambda: None
