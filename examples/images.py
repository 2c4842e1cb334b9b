"""Train a vision-language model: `python examples/images.py`.

The model is tiny and has random weights, so it learns nothing that is worth having. The example shows the parts: a dataset
with a column of images, prompts of messages, a reward that reads a column, and the same trainer. For a real run, pass the
name of a model, such as `HuggingFaceTB/SmolVLM2-256M-Video-Instruct`.
"""

import sys
from typing import Any

import torch
from datasets import Dataset, Features, Image, Value
from PIL import Image as Pictures
from transformers import (
    AutoTokenizer,
    CLIPImageProcessorPil,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
)

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo, length, reward


COLOURS = {"red": (220, 30, 30), "green": (30, 160, 30), "blue": (30, 30, 220)}
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@reward(outcome=True)
def names_colour(completion: str, colour: str) -> float:
    """Share of the letters of the right colour that occur in the completion, in order."""
    found = 0
    for letter in completion.lower():
        found += found < len(colour) and letter == colour[found]
    return found / len(colour)


def make_dataset(size: int = 24) -> Dataset:
    names = [[*COLOURS][row % 3] for row in range(size)]
    rows = {
        "prompt": [[{"role": "user", "content": "Which colour is this?"}]] * size,
        "image": [Pictures.new("RGB", (8, 8), COLOURS[name]) for name in names],
        "colour": names,
    }
    message = [{"role": Value("string"), "content": Value("string")}]
    return Dataset.from_dict(rows, Features({"prompt": message, "image": Image(), "colour": Value("string")}))


def make_model() -> tuple[LlavaForConditionalGeneration, LlavaProcessor]:
    """Return a model with random weights and its processor, which needs no download and no torchvision."""
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL, extra_special_tokens={"image_token": "<image>"})
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = {"model_type": "qwen2", "num_key_value_heads": 2, "vocab_size": len(tokenizer)}
    tokens = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    vision = {"model_type": "clip_vision_model", "image_size": 8, "patch_size": 4, "projection_dim": 32}
    image_id = tokenizer.convert_tokens_to_ids("<image>")
    config = LlavaConfig(
        vision_config=vision | size,
        text_config=text | size | tokens,
        image_token_index=image_id,
        image_seq_length=4,
    )
    pixels = CLIPImageProcessorPil(size={"shortest_edge": 8}, crop_size=8)
    processor = LlavaProcessor(
        pixels, tokenizer, patch_size=4, vision_feature_select_strategy="default", num_additional_image_tokens=1
    )
    processor.chat_template = TEMPLATE
    return LlavaForConditionalGeneration(config), processor


def main(model: Any = None, output_dir: str = "runs/images", max_steps: int = 20) -> FilteredGRPOTrainer:
    model, processor = make_model() if model is None else (model, None)
    args = FilteredGRPOConfig(
        output_dir,
        max_steps=max_steps,
        num_generations=8,
        per_device_train_batch_size=24,
        max_completion_length=16,
        learning_rate=1e-3,
        # random weights would also sample the token that stands for an image
        generation_kwargs={"suppress_tokens": [model.config.image_token_index]} if processor else None,
        use_cpu=processor is not None,
        bf16=processor is None,
        gradient_checkpointing=processor is None,
        logging_steps=5,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
    )
    rewards = names_colour() + 0.1 * length(6)
    trainer = FilteredGRPOTrainer(model, rewards, args=args, train_dataset=make_dataset(), processing_class=processor)
    trainer.train()
    return trainer


if __name__ == "__main__":
    main(*sys.argv[1:2])
