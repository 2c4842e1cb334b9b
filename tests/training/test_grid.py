"""Our trainer has TRL's gradient in each of `helpers/settings.py`, step by step, and computes no more than it needs."""

import pytest

from helpers.grid import compare, compare_on_two_ranks
from helpers.marks import slow_except
from helpers.settings import RANKS, SETTINGS


pytestmark = pytest.mark.compared
QUICK = (
    "dapo, 50% dead",
    "grpo, 100% dead",
    "luspo, two generations a step, two iterations, ratios of sequences",
    "2 iterations, generations of 4, accumulation of 2",
    "scale_rewards=group, normalize_then_sum",
    "truncated rows masked, dr_grpo",
    "correction of vLLM, sequence_mask",
    "micro-batches of 3 rows, grpo",
    "LoRA",
    "KL term, two iterations",
    "entropy bonus, grpo",
    "drop without dead groups, dapo",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The models are saved once."""
    return tmp_path_factory.mktemp("grid")


@pytest.fixture(scope="module")
def on_two_ranks(tmp_path_factory):
    return compare_on_two_ranks(tmp_path_factory.mktemp("ranks"))


def check(setting, comparisons):
    assert len(comparisons) == len(setting.modes) > 0
    for asked, found in zip(setting.modes, comparisons, strict=True):
        assert found.mode == (setting.auto if asked == "auto" else asked)
        assert found.difference <= setting.most
        has_gradient = setting.dead < 1 and setting.options.get("max_completion_length") != 1
        assert (found.norm > 0) == has_gradient
        needed = found.live_rows if found.mode == "skip" else found.rows_of_trl
        assert needed <= found.rows <= needed + found.steps  # and a filler where a rank has no row for a step
        assert 0 < found.tokens <= found.tokens_of_trl


def test_grid_has_each_setting_once():
    names = [setting.name for setting in SETTINGS + RANKS]
    assert len({*names}) == len(names) > 130 and {*QUICK} <= {*names}


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # these two by torch's compiler
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.filterwarnings("ignore:Position ids are not supported:UserWarning")  # by PEFT, while it samples
@pytest.mark.parametrize("setting", slow_except([one for one in SETTINGS if one.name in QUICK], SETTINGS), ids=str)
def test_grid_has_the_gradient_of_trl(setting, folder):
    check(setting, compare(setting, folder))


@pytest.mark.slow
@pytest.mark.parametrize("setting", RANKS, ids=str)
def test_grid_has_the_gradient_of_trl_on_two_ranks(setting, on_two_ranks):
    check(setting, on_two_ranks[setting.name])
