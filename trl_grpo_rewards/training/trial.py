"""The trial of shared rows: whether a model says the same of them as of whole rows, but for rounding."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from accelerate.utils import gather_object
from torch import Tensor, nn
from torch.nn import functional

from .packing import Packer
from .passes import LOGPS_ARGUMENTS, Scorer
from .paths import Path, list_shared
from .rows import TokenIds
from .trl_members import utils


TRIED = 4  # number of rows that are tried
GENERATIONS = (1, 2, 8)  # when they are tried, since parts of a model may be 0 at first
LONGER = 2  # and when a row has this many times the tokens of those that were tried
MOST = 1e-4  # difference of a log-probability if rows share tokens; 28 families differ by at most 2e-6 in float32
# A larger difference may be rounding, which is measured with these columns of padding on each side.
PADDINGS = (1, 3, 8, 16)
# Largest ratio of a difference to what the paddings change: in the mean of all tokens, and of a single token. In bf16, the mean
# ratio of 160 layouts without a fault was at most 1.5. With positions that are off by one, it was 1.6 once and above 2 in 39
# other trials, and a run has several.
MOST_OF_NOISE = 1.8, 5.0
FEW = 16  # tokens whose mean says no more than a single token
# Largest mean difference between paddings that is rounding: of tensor cores in float32, and of 16 bits.
MOST_NOISE = (0.005, 0.2)


@dataclass
class Trial:
    """Tries whether rows can share tokens. Every rank must call it."""

    packer: Packer
    generations: int = 0
    longest: int = 0  # row that was tried

    def run(self, score: Scorer, model: nn.Module, prompts: TokenIds, ids: TokenIds, size: int) -> None:
        """Try the longest rows of the group with the longest row, if it is time. Groups have `size` rows."""
        if self.packer.sharing is None:
            return
        self.generations += 1
        lengths = [len(prompt) + len(own) for prompt, own in zip(prompts, ids, strict=True)]
        longest = max(gather_object([max(lengths)]))
        widest = longest + 2 * max(PADDINGS)  # embeddings may keep what they computed for wider rows
        is_due = self.generations in GENERATIONS or longest >= LONGER * self.longest
        if not is_due or widest >= self.packer.limit:
            return
        start = lengths.index(max(lengths)) // size * size
        rows = sorted(range(len(ids))[start : start + size], key=lengths.__getitem__)[-TRIED:]
        own = [prompts[row] for row in rows], [ids[row] for row in rows]
        paths = sorted(Path(0, prompt + after, len(prompt)) for prompt, after in zip(*own, strict=True))
        if all(gather_object([any(list_shared(paths))])):  # else nothing is tried
            self.longest = longest

        def find_faults(paddings: Sequence[int]) -> list[str]:
            return [*filter(None, gather_object([compare(self.packer, score, model, *own, paddings)]))]

        if faults := find_faults(()) and find_faults(PADDINGS):  # rounding is measured only if there is a difference
            self.packer.stop_sharing(faults[0])


def compare(
    packer: Packer,
    score: Scorer,
    model: nn.Module,
    prompts: TokenIds,
    completions: TokenIds,
    paddings: Sequence[int],
) -> str:
    """Return what differs if rows share tokens, or nothing. Without `paddings`, any difference may be rounding."""
    columns = max(1, *map(len, completions))
    was_training = model.training
    weight = next(model.parameters())
    model.eval()
    try:
        parts = [
            utils.pad([torch.tensor(row, dtype=torch.long, device=weight.device) for row in own], -1, side)
            for own, side in ((prompts, "left"), (completions, "right"))
        ]
        ids = torch.cat(parts, 1)
        own = ids.clamp(min=0), (ids >= 0).long(), columns
        batch = dict(zip(LOGPS_ARGUMENTS, (*own, len(ids)), strict=False))
        with torch.no_grad():
            layouts = []
            for more in (0, *paddings):
                wide = (functional.pad(each, (more, more)) for each in own[:2])
                layouts.append(
                    score(model, *wide, columns + more, batch_size=packer.args.per_device_train_batch_size)[0][
                        :, :columns
                    ]
                )
            shared, *_ = replace(packer).score(score, model, batch, [*range(len(ids))])
        is_token = own[1][:, -columns:].bool()
        is_rounded = packer.accelerator.mixed_precision != "no" or weight.dtype.itemsize < 4
        return find_difference(shared[is_token], torch.stack(layouts)[:, is_token], MOST_NOISE[is_rounded])
    except Exception as error:  # of any code of a model
        return f"rows cannot share it: {type(error).__name__}: {error}"
    finally:
        model.train(was_training)


def find_difference(shared: Tensor, layouts: Tensor, most_noise: float) -> str:
    """
    Return how log-probabilities of tokens (T,) differ from those in other layouts (L, T), or nothing if it is rounding.

    The mean of the layouts is compared, since it is rounded least.
    """
    if not len(shared):
        return ""
    mean = layouts.double().mean(0)
    noise = (layouts - mean).abs()
    difference = (shared - mean).abs()
    if difference.max() <= MOST:
        return ""
    times, times_of_one = MOST_OF_NOISE
    times = times_of_one if len(shared) < FEW else times
    is_usual = difference.mean() <= times * noise.mean() and difference.max() <= times_of_one * noise.max()
    if is_usual and noise.mean() <= most_noise:
        return ""
    return (
        f"log-probabilities differ by {difference.mean():.1g} on average if rows share it, and by {noise.mean():.1g} if only "
        f"the padding changes"
    )
