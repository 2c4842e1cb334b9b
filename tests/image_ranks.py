"""What tests/test_images.py runs on two ranks: `torchrun --nproc_per_node 2 tests/image_ranks.py LAYOUT ROWS FOLDER`.

With four prompts a rank, those of a rank may all be text. Leaves what it saw in FOLDER/<rank>.json.
"""

import json
import os
import sys
from pathlib import Path

import torch.distributed as dist
from conftest import small_config
from test_gradient import Reference
from test_images import ROWS, against
from vision_parts import dataset


def differences(layout: str, rows: str, folder: Path) -> list[float]:
    def config(cls, **options):
        args = small_config(folder, cls, **options)
        assert args.world_size == 2
        return args

    problems, small = dataset(*ROWS[rows], size=32), {"per_device_train_batch_size": 2}
    quiet = {"log_multimodal": False}  # TRL gathers the images to log on those ranks alone that have any, and hangs
    return [
        against(Reference, config, layout, problems, **quiet),
        against(Reference, config, layout, problems, **quiet, **small, gradient_accumulation_steps=8),
    ]


if __name__ == "__main__":
    layout, rows, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    dist.init_process_group("gloo")
    own = folder / f"rank {dist.get_rank()}"
    own.mkdir()
    seen = {"world_size": dist.get_world_size(), "differences": differences(layout, rows, own)}
    (folder / f"{dist.get_rank()}.json").write_text(json.dumps(seen))
    dist.barrier()
    sys.stderr.flush()
    os._exit(0)  # threads of gloo that are at work while Python closes may abort it
