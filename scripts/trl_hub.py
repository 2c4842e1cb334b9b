"""What TRL's tests of its GRPO trainer load from the Hub, made anew: tiny models with random weights, and datasets."""

import string
from collections.abc import Callable
from pathlib import Path

import torch
import transformers
import trl
from datasets import Dataset, Features, List, Value
from datasets import Image as ImageColumn
from PIL import Image
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from helpers import vision_models
from helpers.vision_models import qwen
from helpers.vision_parts import processor_class, text


QWEN3 = """
0 ! 11 , 16 1 17 2 18 3 19 4 25 : 27 < 29 > 40 I 64 a 65 b 66 c 198 ⏎ 220 ␣ 293 ␣b 314 ␣{ 330 ␣" 397 >⏎ 411 out 450 de
497 ", 522 </ 606 name 788 ": 894 ␣any 927 sh 944 't 1318 text 1414 ␣know 1513 ␣don 2765 ␣won 4913 {" 5212 ␣{" 6023 hi
5392 ␣tool 6659 call 7692 async 9520 step 11248 }}⏎ 13477 crement 14172 tool 16252 ␣increment 16370 arguments
17453 Done 22785 _tool 35744 increment 64648 multiply 93054 _multiply 95642 "}}⏎ 151643 <|endoftext|>
151644 <|im_start|> 151645 <|im_end|> 151657 <tool_call> 151658 </tool_call>
"""
QWEN3_5 = """
0 ! 27 < 29 > 40 I 198 ⏎ 510 </ 866 ␣any 914 't 1366 ␣know 1459 ␣don 1628 function 5224 ␣tool 13744 =s 16936 Done
22076 _tool 30091 creenshot 248044 <|endoftext|> 248045 <|im_start|> 248046 <|im_end|> 248053 <|vision_start|>
248054 <|vision_end|> 248056 <|image_pad|> 248057 <|video_pad|> 248058 <tool_call> 248059 </tool_call>
"""
"""Tokens whose ids the tests write out, or which a prompt needs; other ids are words that mean nothing."""

TEXT_MODELS: dict[str, tuple[str, str, dict]] = {
    "tiny-Qwen2ForCausalLM-2.5": ("Qwen2", "qwen2_5", {}),
    "small-Qwen2ForCausalLM-2.5": ("Qwen2", "qwen2_5", {}),
    "tiny-Qwen2ForSequenceClassification-2.5": ("Qwen2", "qwen2_5", {"num_labels": 1}),
    "tiny-Qwen3ForCausalLM": ("Qwen3", "qwen3", {}),
    "tiny-Qwen3ForSequenceClassification": ("Qwen3", "qwen3", {"num_labels": 1}),
    "tiny-Qwen3MoeForCausalLM": ("Qwen3Moe", "qwen3", {"num_experts": 4, "moe_intermediate_size": 16}),
    "tiny-LlamaForCausalLM-3.2": ("Llama", "qwen2_5", {}),
    "tiny-LlamaForSequenceClassification-3.2": ("Llama", "qwen2_5", {"num_labels": 1}),
    "tiny-MistralForCausalLM-0.2": ("Mistral", "qwen2_5", {}),
    "tiny-Gemma2ForCausalLM": ("Gemma2", "qwen2_5", {"query_pre_attn_scalar": 8}),
    "tiny-Cohere2ForCausalLM": ("Cohere2", "qwen2_5", {}),
    "tiny-GptOssForCausalLM": ("GptOss", "qwen2_5", {"num_local_experts": 4}),
    "tiny-Glm4MoeForCausalLM": ("Glm4Moe", "qwen2_5", {"n_routed_experts": 4, "moe_intermediate_size": 16}),
}
"""Folder: model class without its end, chat template of TRL, options."""


def qwen2_vl():
    return qwen("Qwen2VL", "qwen2_vl_text", {"embed_dim": 16, "mlp_ratio": 2}, "Qwen2VLProcessor")


def qwen3_5(name: str = "Qwen3_5", text_type: str = "qwen3_5_text", **options):
    vision = {"intermediate_size": 32, "out_hidden_size": 16, "num_position_embeddings": 64}
    rope = {"partial_rotary_factor": 1.0, "mrope_interleaved": True}
    options |= {f"linear_{kind}_head_dim": 8 for kind in ("key", "value")}
    options |= {f"linear_num_{kind}_heads": 2 for kind in ("key", "value")}
    options |= {"layer_types": ["linear_attention", "full_attention"]}
    return qwen(name, text_type, vision, "Qwen3VLProcessor", rope, **options)


def qwen3_5_moe():
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
    return qwen3_5("Qwen3_5Moe", "qwen3_5_moe_text", shared_expert_intermediate_size=16, **experts)


IMAGE_MODELS: dict[str, Callable] = {
    "tiny-Gemma3ForConditionalGeneration": vision_models.gemma3,
    "tiny-Gemma4ForConditionalGeneration": vision_models.gemma4,
    "tiny-LlavaForConditionalGeneration": vision_models.llava,
    "tiny-LlavaNextForConditionalGeneration": vision_models.llava_next,
    "tiny-Qwen2VLForConditionalGeneration": qwen2_vl,
    "tiny-Qwen2_5_VLForConditionalGeneration": vision_models.qwen2_5_vl,
    "tiny-Qwen3_5ForConditionalGeneration-NoThink": lambda: qwen3_5(tokenizer=qwen3_5_tokenizer()),
    "tiny-Qwen3_5MoeForConditionalGeneration-3.6": qwen3_5_moe,
}
PROCESSORS = ("Gemma4", "Qwen2VL", "Qwen2_5_VL", "Qwen3VL")
IMAGES = (1, 1, 2, 2, 1, 1, 2, 0, 2, 3, 1, 1, 3, 0, 1, 1, 1)
PROMPTS = [f"Rule number {row} is better than rule" for row in range(19)]


def make_tokenizer(known: str, template: str, **special: str) -> transformers.PreTrainedTokenizerFast:
    """One token a character, besides those that are known; yet all ids have a text, of one letter to five."""
    words = known.split()
    texts = [word.replace("␣", " ").replace("⏎", "\n") for word in words[1::2]]
    vocabulary = dict(zip(texts, map(int, words[::2]), strict=True))
    taken = set(vocabulary.values())
    free = (number for number in range(max(taken) + 1) if number not in taken)
    for character in string.printable:
        if character not in vocabulary:
            vocabulary[character] = next(free)
    for number in free:
        vocabulary[f"{chr(0x4E00 + number % 20000)}{chr(0x4E00 + number // 20000)}" + "x" * (number % 4)] = number
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|im_end|>", extra_special_tokens=special
    )
    fast.add_tokens([token for token in texts if token.startswith("<|")], special_tokens=True)
    fast.add_tokens([token for token in texts if token.endswith("tool_call>")])
    fast.chat_template = (Path(trl.__file__).parent / "chat_templates" / f"{template}.jinja").read_text()
    return fast


def qwen3_5_tokenizer() -> transformers.PreTrainedTokenizerFast:
    return make_tokenizer(
        QWEN3_5,
        "qwen3_5_nothink",
        image_token="<|image_pad|>",
        video_token="<|video_pad|>",
        start_token="<|vision_start|>",
        end_token="<|vision_end|>",
    )


def save_text_model(folder: Path, family: str, template: str, options: dict) -> None:
    tokenizer = make_tokenizer(QWEN3, template)
    config_class = getattr(transformers, f"{family}Config")
    defaults = text(tokenizer, config_class.model_type, tie_word_embeddings=family == "Gemma2")
    config = config_class(**{**defaults, "num_experts_per_tok": 2, **options})
    head = "SequenceClassification" if "num_labels" in options else "CausalLM"
    getattr(transformers, f"{family}For{head}")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def save_image_model(folder: Path, maker: Callable) -> None:
    model, processor = maker()
    processor.chat_template = processor.tokenizer.chat_template
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


def register_processors() -> None:
    """Processors without videos load by the names that they are saved under."""
    for family in PROCESSORS:
        config = type(f"{family}OfImagesConfig", (transformers.PreTrainedConfig,), {"model_type": f"{family}-images"})
        transformers.AutoProcessor.register(config, processor_class(f"{family}Processor"))


def save_dataset(folder: Path, rows: dict[str, list[dict]], features: Features | None = None) -> None:
    lines = ["---", "configs:"]
    for name, entries in rows.items():
        lines += [f"- config_name: {name}", "  data_files:"]
        for split, part in {"train": entries[:17], "test": entries[17:]}.items():
            Dataset.from_list(part, features=features).to_parquet(folder / name / f"{split}.parquet")
            lines += [f"  - split: {split}", f"    path: {name}/{split}.parquet"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))


def noise(number: int) -> Image.Image:
    return Image.effect_noise((32 + number, 60 - number), 80).convert("RGB")


def make_hub(hub: Path) -> None:
    torch.manual_seed(0)
    for name, described in TEXT_MODELS.items():
        save_text_model(hub / name, *described)
    for name, maker in IMAGE_MODELS.items():
        save_image_model(hub / name, maker)
    talks = [{"prompt": [{"role": "user", "content": prompt}]} for prompt in PROMPTS]
    plain = [{"prompt": prompt} for prompt in PROMPTS]
    save_dataset(hub / "zen", {"standard_prompt_only": plain, "conversational_prompt_only": talks})

    messages = [{"role": Value("string"), "content": Value("string")}]
    pictured = [{**talk, "image": noise(row)} for row, talk in enumerate(talks)]
    features = Features({"prompt": messages, "image": ImageColumn()})
    save_dataset(hub / "zen-image", {"conversational_prompt_only": pictured}, features)

    parts = List({"role": Value("string"), "content": List({"type": Value("string"), "text": Value("string")})})
    several = [
        {
            "prompt": [{"role": "user", "content": [{"type": "image"}] * count + [{"type": "text", "text": prompt}]}],
            "images": [noise(number) for number in range(count)],
        }
        for prompt, count in zip(PROMPTS, (*IMAGES, 1, 0), strict=True)
    ]
    features = Features({"prompt": parts, "images": List(ImageColumn())})
    save_dataset(hub / "zen-multi-image", {"conversational_prompt_only": several}, features)
