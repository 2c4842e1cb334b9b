"""Check a job before the GPU hours are spent: rewards, dataset, configuration and chat template, without a model.

    python scripts/check.py --config scripts/recipes/gsm8k.yaml
    python scripts/check.py --dataset_name json --data_files problems.jsonl --rewards "boxed() + 0.2 * tags('think')" \
        --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct

Takes what scripts/train.py takes. Of the model it loads the tokenizer only. Exits with 1 where it finds a fault.
"""

import sys
from pathlib import Path

from trl_grpo_rewards.checks import as_text, check
from trl_grpo_rewards.cli.job import in_a_sentence, load_tokenizer, prepared, read_job


DEMO = Path(__file__).parent / "recipes" / "addition.yaml"


def main() -> None:
    job, training, model = read_job(DEMO)
    with in_a_sentence():
        rewards, problems, _ = prepared(job, training, model)
        tokenizer = load_tokenizer(model, training)
    found = check(rewards, problems, training, tokenizer, job.bad_golds)
    print(as_text(found))
    sys.exit(any(one.faults for one in found))


if __name__ == "__main__":
    main()
