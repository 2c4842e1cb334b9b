"""The trial of shared rows: models say the same of them as of whole rows, and those that do not are found out."""

import random
from contextlib import nullcontext
from functools import partial, wraps
from types import SimpleNamespace

import pytest
import torch
from accelerate.utils import DistributedType
from transformers.masking_utils import sliding_window_causal_mask_function
from trl import GRPOTrainer
from trl.trainer import utils

from helpers.architectures import ARCHITECTURES, build_model
from helpers.marks import slow_except
from helpers.models import load_layer
from helpers.reward_functions import half_dead
from helpers.unpadded_kernels import attend, unpadded_kernels
from trl_grpo_rewards import FilteredGRPOTrainer
from trl_grpo_rewards.training import attention, trial
from trl_grpo_rewards.training.attention import attend_unpadded, chain_rows, let_attend, pad_rows
from trl_grpo_rewards.training.packing import Packer
from trl_grpo_rewards.training.passes import Sharing, cut_columns
from trl_grpo_rewards.training.sharing import find_sharing


if not hasattr(utils, "add_fused_lm_head"):
    pytest.skip("TRL before 1.15 shares no tokens", allow_module_level=True)

score = partial(
    GRPOTrainer._get_per_token_logps_and_entropies.__wrapped__,
    SimpleNamespace(accelerator=SimpleNamespace(autocast=nullcontext)),
)
ACCELERATOR = SimpleNamespace(distributed_type=DistributedType.NO, mixed_precision="no", device=torch.device("cpu"))

EXACT = {*"codegen gptj opt".split()}
"""Models that are not told positions, but would be right."""

QUICK = ["dense", "mistral", "gemma2", "gpt_oss", "lfm2", "falcon, ALiBi"]


def compare(
    name: str, implementation: str | None = None, change=None, dtype="float32", seed=0, times=1, scale=1, lay_out=None
) -> tuple[bool, str]:
    """Return whether a model shares tokens, and the fault that is found if it does, with changes of it or of the layout."""
    rng = random.Random(seed)
    model = build_model(name, vocab_size=97, pad_token_id=0, eos_token_id=1, bos_token_id=1)
    prompt, one, other, third = (
        rng.choices(range(3, 90), k=length) for length in (13, 5 * times, 9 * times, 4 * times)
    )
    model.to(getattr(torch, dtype)).set_experts_implementation("eager")
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(scale)
    if implementation:
        model.set_attn_implementation(implementation)
    utils.add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    if change:
        model.model.forward = partial(change, model.model.forward, model.get_input_embeddings())
    sharing = found = find_sharing(model, ACCELERATOR, None)
    if isinstance(found, str):
        let_attend(model.config.get_text_config()._attn_implementation)
        sharing = Sharing(pad_rows)
    cut_columns(model)
    rows = [prompt] * 4, [one, other, [*one[:2], *third], list(other)]
    args = SimpleNamespace(per_device_train_batch_size=1, pad_to_multiple_of=None)
    packer = Packer(ACCELERATOR, args, 0, sharing=sharing._replace(lay_out=lay_out or sharing.lay_out))
    return sharing is found, trial.compare(packer, score, model, *rows, trial.PADDINGS)


@pytest.mark.parametrize("name", slow_except(QUICK, [one for one in ARCHITECTURES if one != "llama, dynamic"]))
def test_models_say_the_same_of_rows_that_share_tokens_or_are_found_out(name, monkeypatch):
    monkeypatch.setattr(trial, "MOST", 1e-5)
    monkeypatch.setattr(trial, "MOST_OF_NOISE", (0, 0))
    shares, fault = compare(name)
    assert bool(fault) == (name == "falcon, ALiBi" or not shares and name not in EXACT), fault


FAMILIES = {"dense": "", "mistral": "", "qwen3": "", "gemma2": "softcapping", "deepseek_v3": ""}
"""Full attention, windows, grouped queries, softcapping, and values of another width than keys; what torch's kernel lacks."""

LAYOUTS = {
    "own tokens": pad_rows,
    "whole rows": partial(pad_rows, is_whole=True),
    "of torch without padding": partial(chain_rows, kernel=attend_unpadded),
}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("layout", [*LAYOUTS, "eager", "flash_attention_2"])
def test_each_layout_of_rows_is_exact(name, layout, monkeypatch):
    monkeypatch.setattr(trial, "MOST", 1e-5)
    monkeypatch.setattr(trial, "MOST_OF_NOISE", (0, 0))
    own = {"lay_out": LAYOUTS[layout]} if layout in LAYOUTS else {"implementation": layout}
    with unpadded_kernels(monkeypatch):
        shares, fault = compare(name, **own)
    assert shares and (FAMILIES[name] if layout == "of torch without padding" else "") in fault
    assert not fault or layout == "of torch without padding" and FAMILIES[name]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # by torch's compiler
def test_blocks_are_as_right_as_masks():
    _, said = compare("dense", "flex_attention")
    if "by nan if only the padding changes" in said:  # of whole rows, too, on processors without AVX-512
        pytest.skip("torch's FlexAttention returns NaN for padded rows here")
    assert not said


def shift(by):
    """Positions of completions are off."""

    def forward(plain, embed, position_ids=None, **inputs):
        return plain(position_ids=None if position_ids is None else position_ids + by * (position_ids >= 13), **inputs)

    return forward


def with_masks(change):
    """Rows with masks that are made with other options."""

    class Changed(attention.Rows):
        def add_masks(self, make_mask, **options):
            return super().add_masks(lambda **own: make_mask(**change({**options, **own})), **options)

    def lay_out(members, length):
        return Changed(**vars(pad_rows(members, length)))

    return lay_out


def with_window(by):
    def change(options):
        window = (options.get("local_size") or 1000) + by
        return {**options, "local_size": window, "mask_function": sliding_window_causal_mask_function(window)}

    return change


def with_both_sides(options):
    return {**options, "mask_function": lambda batch, head, query, key: (key <= query) | (key < 13) & (query < 13),
            "allow_is_causal_skip": False}  # fmt: skip


def with_upper_left(options):
    return {**options, "q_offset": 0}


def with_other_rows(members, length):
    """The second row sees the first one."""
    first, second, *others = members
    return pad_rows(
        [first, second._replace(columns=[*first.columns, *second.columns[-second.own :]]), *others], length
    )


def of_kernel(**changes):
    """FlashAttention that has a fault where rows have more keys than queries."""

    @wraps(attend)  # transformers asks which options it has
    def kernel(q, k, v, cu_seqlens_q, cu_seqlens_k, *lengths, window_size=(-1, -1), **options):
        window = window_size[0] + changes.get("window", 0) * (window_size[0] >= 0 and len(q) < len(k)), 0
        output = attend(q, k, v, cu_seqlens_q, cu_seqlens_k, *lengths, window_size=window, **options)
        if "aligned" not in changes:
            return output
        rows = zip(*(ends.tolist() for ends in (cu_seqlens_q, cu_seqlens_q[1:], cu_seqlens_k)), strict=False)
        for start, end, first in rows:  # at the upper left, a query sees as many keys as queries
            count = end - start
            ends, one = torch.tensor([0, count], dtype=torch.int32), slice(first, first + count)
            own = {"max_seqlen_q": count, "max_seqlen_k": count, "causal": True}
            output[start:end] = attend(q[start:end], k[one], v[one], ends, ends, **own)
        return output

    return kernel


PLANTED = {
    "window - 1": ("mistral", {"lay_out": with_masks(with_window(-1))}),
    "window + 1": ("mistral", {"lay_out": with_masks(with_window(1))}),
    "positions + 1": ("dense", {"change": shift(1)}),
    "positions - 1": ("dense", {"change": shift(-1)}),
    "both sides": ("dense", {"lay_out": with_masks(with_both_sides)}),
    "other rows": ("dense", {"lay_out": with_other_rows}),
    "aligned at the upper left": ("dense", {"lay_out": with_masks(with_upper_left)}),
}
OF_KERNELS = {"window - 1": ("mistral", {"window": -1}), "window + 1": ("mistral", {"window": 1}),
              "aligned at the upper left": ("dense", {"aligned": 0})}  # fmt: skip


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_rounding_is_no_fault_and_planted_faults_are_found(dtype):
    for seed in range(3):
        for name, scale in (
            ("dense", 1),
            ("mistral", 40),
            ("qwen3", 40),
        ):  # log-probabilities as far apart as in real models
            shares, said = compare(name, dtype=dtype, seed=seed, times=4, scale=scale)
            assert shares and not said, (name, seed)
    for seed in range(2):
        for fault, (name, changes) in PLANTED.items():
            assert "differ by" in compare(name, dtype=dtype, seed=seed, times=4, **changes)[1], (fault, seed)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("implementation", ["flash_attention_2", "sdpa"])
def test_faults_of_kernels_without_padding_are_found(implementation, dtype, monkeypatch):
    own = {"dtype": dtype, "times": 4, "implementation": implementation}
    own |= {"lay_out": LAYOUTS["of torch without padding"]} if implementation == "sdpa" else {}
    for seed in range(2):
        with unpadded_kernels(monkeypatch):
            assert not any(compare(name, seed=seed, **own)[1] for name in ("dense", "mistral"))
        for fault, (name, changes) in OF_KERNELS.items():
            with unpadded_kernels(monkeypatch, of_kernel(**changes)):
                assert "differ by" in compare(name, seed=seed, **own)[1], (fault, seed)


def test_a_window_that_attention_is_not_told_is_an_error():
    rows = chain_rows([attention.Member([0, 1, 2, 3], 4)], 4).add_masks(None, local_size=3)
    with pytest.raises(ValueError, match="different windows"):
        rows.attend(attend, *torch.zeros(3, 1, 1, 4, 8))


def drop_positions(plain, embed, position_ids=None, **inputs):
    return plain(**inputs)


def drop_mask(plain, embed, attention_mask=None, **inputs):
    return plain(**inputs)


def add_columns(plain, embed, input_ids, **inputs):
    return plain(inputs_embeds=embed(input_ids) + torch.arange(input_ids.size(1))[:, None] % 2 / 500, **inputs)


@pytest.mark.parametrize("change", [drop_positions, drop_mask, add_columns])
def test_a_model_that_is_changed_is_found_out(change):
    assert "differ by" in compare("dense", change=change)[1]


def test_a_run_stops_sharing_where_it_would_be_wrong(config, problems, caplog, monkeypatch):
    def train(lay_out):
        trainer = FilteredGRPOTrainer(load_layer(), half_dead, args=config(max_steps=1), train_dataset=problems)
        trainer._packer.sharing = trainer._packer.sharing._replace(lay_out=lay_out)
        trainer.train()
        return trainer._packer.sharing is not None, trainer.state.log_history[0]["groups/tokens_computed"]

    assert train(pad_rows)[0] and not caplog.text
    (is_shared, computed), (_, fewer) = train(with_masks(with_window(-998))), train(pad_rows)
    assert not is_shared and fewer < computed
    said = "The run is correct but slower: the prompt of a group is computed for each of its completions, because log-probabilities"
    assert said in caplog.text


def test_what_rules_out_sharing_is_said_once(config, problems, caplog):
    model = load_layer()
    model.config._attn_implementation = "paged|sdpa"
    trainer = FilteredGRPOTrainer(model, half_dead, args=config(), train_dataset=problems)
    assert trainer._packer.sharing is None and caplog.text.count("attn_implementation='sdpa' shares prompts") == 1


def test_activated_adapters_get_whole_rows(config, problems, caplog):
    from peft import LoraConfig

    adapter = LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj"], alora_invocation_tokens=[5])
    trainer = FilteredGRPOTrainer(load_layer(), half_dead, args=config(), train_dataset=problems, peft_config=adapter)
    assert trainer._packer.sharing is None and "activated LoRA looks for its tokens in whole rows" in caplog.text


def test_a_model_that_a_subclass_scores_with_gets_whole_rows(config, problems):
    """It was not tried whether its rows can share tokens."""
    seen = []

    class Distilled(FilteredGRPOTrainer):
        def _generate_and_score_completions(self, inputs):
            output = super()._generate_and_score_completions(inputs)
            ids, mask = (
                torch.cat([output[f"prompt_{name}"], output[f"completion_{name}"]], 1) for name in ("ids", "mask")
            )
            with torch.no_grad():
                logps, *_ = self._get_per_token_logps_and_entropies(
                    teacher, ids, mask, output["completion_ids"].size(1)
                )
            own = output["completion_mask"].bool() & ~logps.isnan()
            seen.append((logps[own], ids, mask))
            return output

    teacher = load_layer()
    utils.add_fused_lm_head(teacher, outputs=("log_probs", "entropy"))
    trainer = Distilled(load_layer(), half_dead, args=config(max_steps=1), train_dataset=problems)
    trainer.train()
    ((logps, ids, mask),) = seen
    assert len(logps) and torch.isfinite(logps).all() and trainer._packer.sharing is not None


def count_trials(monkeypatch, generations):
    """Return in which generations rows are tried, given prompts and completions of each."""
    tried = []
    monkeypatch.setattr(trial, "compare", lambda *args: tried.append(one.generations) or "")
    packer = SimpleNamespace(sharing=Sharing(pad_rows), limit=torch.inf)
    one = trial.Trial(packer)
    for prompts, ids in generations:
        one.run(None, None, prompts, ids, 2)
    return tried


def test_rows_are_tried_at_first_later_and_when_they_are_twice_as_long(monkeypatch):
    short, long = ([[5] * 4] * 2, [[6] * 4, [7] * 3]), ([[5] * 4] * 2, [[6] * 12, [7] * 3])
    assert count_trials(monkeypatch, [short] * 12) == [1, 2, 8]
    assert count_trials(monkeypatch, [short] * 3 + [long] * 9) == [1, 2, 4, 8]


def test_rows_that_share_nothing_do_not_count_as_tried(monkeypatch):
    apart, same = ([[5] * 4, [6] * 4], [[6], [7]]), ([[5] * 4] * 2, [[6], [7]])
    assert count_trials(monkeypatch, [apart] * 4 + [same] * 5) == [1, 2, 3, 4, 5, 8]
