"""The command `trl-grpo-rewards pass-rates` with vLLM in its process: `python sampling.py OPTION...`."""

import faulthandler
import os
import sys

import patches
import torch

from trl_grpo_rewards.cli.main import main


if __name__ == "__main__":
    faulthandler.dump_traceback_later(float(os.environ["ENGINE_TEST_DUMP_AFTER"]), exit=True)
    torch.set_num_threads(1)
    patches.keep_weights_of_linear_layers()
    main(["pass-rates", *sys.argv[1:]])
    sys.stdout.flush()
    os._exit(0)  # an engine that still runs while Python shuts down can abort it
