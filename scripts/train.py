"""Train with GRPO, as `trl-grpo-rewards train` does: accelerate launch scripts/train.py --config gsm8k"""

import sys

from trl_grpo_rewards.cli.train import main


if __name__ == "__main__":
    main(sys.argv[1:])
