"""A model that knows how to call a tool: the bundled one after a minute of supervised training.

Larger models know this already and need nothing from this file. The bundled one has 380,000 parameters, has only seen
sums, and reads letter by letter. Therefore, frequent texts such as the frame of a call become single tokens here.
"""

from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from trl_grpo_rewards import demo


def shorten(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> PreTrainedTokenizerBase:
    """Make each text a token, and leave the descriptions of the tools out of the prompt."""
    tokenizer.add_tokens(["assistant\n", "user\n", "tool\n", "}}</tool_call>", *texts])
    tokenizer.chat_template = tokenizer.chat_template.partition("{% endif %}")[2]
    return tokenizer


def warm_up(
    conversations: list[list[dict[str, Any]]], texts: list[str], steps: int = 300, batch: int = 32
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Return the model and its tokenizer after some steps on the conversations. `texts` are texts to make tokens of."""
    torch.manual_seed(0)
    tokenizer = shorten(AutoTokenizer.from_pretrained(demo.MODEL), texts)
    model = AutoModelForCausalLM.from_pretrained(demo.MODEL, dtype=torch.float32)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    rows = [torch.tensor(tokenizer(render(tokenizer, one)).input_ids) for one in conversations]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
    for _ in range(steps):
        drawn = [rows[row] for row in torch.randint(len(rows), (batch,))]
        ids = torch.nn.utils.rnn.pad_sequence(drawn, batch_first=True, padding_value=tokenizer.pad_token_id)
        mask = ids != tokenizer.pad_token_id
        model(input_ids=ids, attention_mask=mask, labels=ids.masked_fill(~mask, -100)).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return model.eval(), tokenizer


def render(tokenizer: PreTrainedTokenizerBase, conversation: list[dict[str, Any]]) -> str:
    return tokenizer.apply_chat_template(conversation, tokenize=False)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Return a message that calls a tool."""
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}
