"""The scenario that test_grid.py runs on two ranks: `torchrun --nproc_per_node 2 two_ranks_of_settings.py compare_all FOLDER`."""

import gc

import torch

from helpers.grid import compare
from helpers.settings import RANKS
from helpers.two_ranks import run_scenarios


def compare_all(folder) -> dict:
    gc.freeze()  # TRL collects garbage after each run
    torch.set_num_threads(1)
    return {setting.name: compare(setting, folder) for setting in RANKS}


if __name__ == "__main__":
    run_scenarios(globals())
