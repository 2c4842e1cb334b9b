"""The kernels of attention: cuDNN's are avoided while a run trains or is evaluated, and nothing of it stays."""

import pytest
import torch

from helpers.models import load_layer
from helpers.reward_functions import half_dead
from trl_grpo_rewards import FilteredGRPOTrainer
from trl_grpo_rewards.training import attention
from trl_grpo_rewards.training.attention import avoid_cudnn


@pytest.fixture
def enabled():
    known = torch.backends.cuda.cudnn_sdp_enabled()
    yield lambda: torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(known)


@pytest.mark.parametrize("before", [True, False])
def test_kernels_of_cudnn_are_off_in_a_run_and_as_before_after_it(config, problems, enabled, before):
    seen, errors = [], []

    def watch(completions, **kwargs):
        seen.append(enabled())
        if errors:
            raise errors[0]
        return [float(len(completions) > 0) * place for place in range(len(completions))]

    torch.backends.cuda.enable_cudnn_sdp(before)
    trainer = FilteredGRPOTrainer(
        load_layer(), watch, args=config(max_steps=1), train_dataset=problems, eval_dataset=problems.select(range(4))
    )
    trainer.train()
    assert enabled() == before
    trainer.evaluate()
    assert enabled() == before
    errors.append(KeyError("the reward"))
    with pytest.raises(KeyError):
        trainer.train()
    assert enabled() == before and len(seen) >= 3 and not any(seen)


@pytest.mark.parametrize("multiple, warned", [(64, True), (192, True), (128, False), (None, False)])
def test_a_width_that_cudnn_gets_wrong_is_warned_of_on_a_gpu(monkeypatch, config, enabled, caplog, multiple, warned):
    attention.tell_of_cudnn.cache_clear()
    args = config(pad_to_multiple_of=multiple)
    torch.backends.cuda.enable_cudnn_sdp(True)
    with avoid_cudnn(args):
        assert not caplog.text  # on a CPU
    with monkeypatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: True)
        for _ in range(2):
            with avoid_cudnn(args):
                assert not enabled()
    assert caplog.text.count("plan of up to a second") == 1
    assert (f"pad_to_multiple_of={multiple} gives batches widths" in caplog.text) == warned


def test_the_model_of_a_run_attends_as_before_after_it(config, problems):
    model = load_layer()
    ids = torch.arange(3, 23).view(2, 10)
    mask = torch.ones_like(ids)
    mask[0, :4] = 0
    with torch.no_grad():
        before = model(input_ids=ids, attention_mask=mask).logits
    args = config(max_steps=1, learning_rate=0.0)
    FilteredGRPOTrainer(model, half_dead, args=args, train_dataset=problems).train()
    labels = ids.masked_fill(mask == 0, -100)
    with torch.no_grad():
        after = model.eval()(input_ids=ids, attention_mask=mask, labels=labels)
    assert torch.equal(after.logits, before) and after.loss.isfinite()
