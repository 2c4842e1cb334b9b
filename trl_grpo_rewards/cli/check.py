"""`trl-grpo-rewards check`: check rewards, dataset, configuration and chat template before a job uses GPU hours."""

import sys
from collections.abc import Sequence

from ..checks import as_text, check
from .commands import exit_on
from .job import load_tokenizer, prepare_job, read_job


DESCRIPTION = """Check a job before it uses GPU hours: rewards, dataset, configuration and chat template. This command takes the
options of `trl-grpo-rewards train`. It loads the tokenizer but not the model. It exits with 1 if it finds a fault."""


def main(arguments: Sequence[str]) -> None:
    with exit_on(TypeError, ValueError, ImportError):
        job, training, model = read_job(arguments, "check", DESCRIPTION)
        rewards, problems, _ = prepare_job(job, training, model)
        tokenizer = load_tokenizer(model, training, job.dataset_name)
    found = check(rewards, problems, training, tokenizer, job.bad_golds)
    print(as_text(found))
    sys.exit(any(one.faults for one in found))
