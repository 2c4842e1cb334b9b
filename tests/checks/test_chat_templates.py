"""Who opens the first tag: the chat template or the model."""

import re

import pytest
from datasets import Dataset
from transformers import AutoConfig, AutoTokenizer

from helpers.checks import find_faults, make_problems, open_think
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, gate, reward, tags
from trl_grpo_rewards.checks import Form, check
from trl_grpo_rewards.faults import find_unused_template
from trl_grpo_rewards.model_inputs import check_template


def test_a_tag_that_the_template_opens_is_not_the_models():
    tokenizer, data = AutoTokenizer.from_pretrained(demo.MODEL), demo.arithmetic(size=32)
    open_already, asked = boxed(evaluated=True) + tags("think", prefilled=True), boxed(evaluated=True) + tags("think")
    (fault,) = check_template(open_already, data, tokenizer).faults
    assert "expects the chat template to end the prompt with <think>, but it ends with" in fault
    (fault,) = check_template(gate(asked, by=boxed(evaluated=True)), data, open_think(tokenizer)).faults
    assert "The reward would stay at 0. Write tags('think', prefilled=True)." in fault
    assert not find_faults(open_already, data, tokenizer=tokenizer)
    tokenizer.chat_template = None
    assert "has no chat template" in check_template(asked, data, tokenizer).faults[0]
    texts = data.map(lambda row: {"prompt": row["prompt"][0]["content"]})
    assert not check_template(asked, texts, tokenizer).faults


@reward(form=lambda: Form(tags=("plan",)))
def planned(completion: str) -> float:
    return float("</plan>" in completion)


def test_a_prompt_that_is_text_is_looked_at_unchanged():
    found = check_template(boxed() + planned(), make_problems("7", prompts=["2 + 5?\n<plan>\n"]), tokenizer=None)
    (fault,) = found.faults
    assert "expects <plan> in the completion" in fault and "planned()" in fault and "prefilled=True" in fault
    assert "no template is applied" in found.lines[0] and found.lines[1].endswith("'2 + 5?\\n<plan>\\n'")
    assert not check_template(planned(), make_problems("7", prompts=["<plan> is a tag"]), tokenizer=None).faults


def test_the_options_of_the_template_are_those_of_the_run():
    tokenizer, data = AutoTokenizer.from_pretrained(demo.MODEL), demo.arithmetic(size=1)
    tokenizer.chat_template += "{% if add_generation_prompt and thinking %}{{ '<think>' }}{% endif %}"
    assert not check_template(tags("think"), data, tokenizer).faults
    assert len(check_template(tags("think"), data, tokenizer, {"thinking": True}).faults) == 1


def test_texts_for_a_chat_model_are_warned_of_here_and_by_the_trainer(config, caplog):
    tokenizer = AutoTokenizer.from_pretrained(demo.MODEL)
    data = make_problems(*"1234567")
    asked = data.map(lambda row: {"prompt": [{"role": "user", "content": row["prompt"]}]})
    rendered = data.map(lambda row: {"prompt": render(tokenizer, row["prompt"])})
    for rows, count in ((data, 1), (asked, 0), (rendered, 0)):
        warnings = [text for one in check(boxed(), rows, tokenizer=tokenizer) for text in one.warnings]
        assert sum("store messages: dataset.map(" in text for text in warnings) == count
        caplog.clear()
        FilteredGRPOTrainer(demo.MODEL, boxed(), config(), rows)
        assert sum("store messages: dataset.map(" in record.message for record in caplog.records) == count
    for template, is_usable in ((None, False), ("{{ raise_exception('none') }}", False), ("none", True)):
        tokenizer.chat_template = template
        assert len([*find_unused_template(data, tokenizer)]) == is_usable


@pytest.mark.parametrize("template", ["[INST] CONTENT [/INST]", "<|{{ one.role }}|>\nCONTENT\n", "CONTENT</s>"])
@pytest.mark.parametrize("ending", ["", "{% if add_generation_prompt %}Answer:{% endif %}"])
def test_texts_that_were_rendered_are_known_without_a_token_of_their_own(template, ending):
    tokenizer, data = AutoTokenizer.from_pretrained(demo.MODEL), make_problems(*"1234567")
    written = template.replace("CONTENT", "{{ one.content }}")
    tokenizer.chat_template = f"{{% for one in messages %}}{written}{{% endfor %}}{ending}"
    rendered = data.map(lambda row: {"prompt": render(tokenizer, row["prompt"])})
    assert rendered[0]["prompt"] != data[0]["prompt"] and [*find_unused_template(data, tokenizer)]
    assert not [*find_unused_template(rendered, tokenizer)]


def render(tokenizer, text):
    asked = [{"role": "user", "content": text}]
    return tokenizer.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)


@pytest.mark.parametrize(
    "column, value, most, faults, said",
    [
        ("image", "aGVsbG8=", 64, 1, "the column 'image' to the model as images, but this model reads only text. Remove"),
        ("images", [], 64, 0, ""),
        ("note", "2 + 2?" + " so" * 5000, 64, 0, ""),
        ("prompt", "2 + 2?" + " so" * 5000, 64, 1, "at most 4,096 tokens, .* has at least .* row 2 of those to train on: '2 "),
        ("prompt", "2 + 2?", 4096, 0, "a completion of up to max_completion_length=4096, but the longest prompt"),
        ("prompt", "2 + 2?" + "1" * 900_000, 64, 1, "at most 4,096 tokens"),
    ],
)  # fmt: skip
def test_prompts_fit_into_the_model_and_images_need_one_that_reads_them(config, column, value, most, faults, said):
    row = {"prompt": "2 + 2?", "solution": "4"}
    data = Dataset.from_list([{**row, **({} if column == "prompt" else {column: value})}, {**row, column: value}])
    parts = [one.from_pretrained(demo.MODEL) for one in (AutoTokenizer, AutoConfig)]
    args = config(max_completion_length=most, generation_batch_size=8)
    found = check(boxed(), data, args, parts[0], model_config=parts[1])
    texts = [text for one in found for text in one.faults + one.warnings if "image" in text or "tokens" in text]
    assert sum(len(one.faults) for one in found if one.title == "prompts, as the model reads them") == faults
    assert re.search(said, texts[0]) if said else not texts, texts


def test_a_model_that_reads_images_gets_them():
    shape = AutoConfig.for_model("qwen2_5_vl")
    data = Dataset.from_dict({"prompt": ["2 + 2?"], "solution": ["4"], "image": ["aGVsbG8="]})
    found = check(boxed(), data, None, AutoTokenizer.from_pretrained(demo.MODEL), model_config=shape)
    assert not any("images" in fault for one in found for fault in one.faults)
