"""What test_programs.py runs on two ranks: `torchrun --nproc_per_node 2 two_ranks_of_programs.py train FOLDER`."""

import json
import sys
from pathlib import Path

import torch.distributed as dist

from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOTrainer, code, demo, shortest


def main(folder: Path) -> None:
    rewards = code() + 0.1 * shortest(code(), name="brief")  # grouped, so whole groups are gathered
    args = small_config(
        folder, per_device_train_batch_size=12, num_generations=8, max_completion_length=64, max_steps=2
    )
    trainer = FilteredGRPOTrainer(demo.CODER, rewards, args=args, train_dataset=demo.programs())
    trainer.train()
    entries = [entry for entry in trainer.state.log_history if "code/runs" in entry]
    seen = {"world_size": dist.get_world_size(), "logs": entries, "rewards": list(trainer._logs["rewards"]["code"])}
    (folder / f"{dist.get_rank()}.json").write_text(json.dumps({**seen, "output_dir": args.output_dir}))


if __name__ == "__main__":
    main(Path(sys.argv[2]))
