"""Check a job before it uses GPU hours: rewards, dataset, configuration and chat template.

    python scripts/check.py --config scripts/recipes/gsm8k.yaml
    python scripts/check.py --dataset_name json --data_files problems.jsonl --rewards "boxed() + 0.2 * tags('think')" \
        --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct

This script takes the same options as scripts/train.py. It loads the tokenizer but not the model. It exits with 1 if it
finds a fault.
"""

import sys

from trl_grpo_rewards.checks import as_text, check
from trl_grpo_rewards.cli.commands import exit_on
from trl_grpo_rewards.cli.job import load_tokenizer, prepare_job, read_job


def main() -> None:
    job, training, model = read_job()
    with exit_on(TypeError, ValueError):
        rewards, problems, _ = prepare_job(job, training, model)
        tokenizer = load_tokenizer(model, training)
    found = check(rewards, problems, training, tokenizer, job.bad_golds)
    print(as_text(found))
    sys.exit(any(one.faults for one in found))


if __name__ == "__main__":
    main()
