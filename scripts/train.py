"""Train with GRPO, as `trl-grpo-rewards train` does: accelerate launch scripts/train.py --config gsm8k"""

import sys

from trl_grpo_rewards.cli.main import main


if __name__ == "__main__":
    main(["train", *sys.argv[1:]])
