"""What version 0.2 had and this one does not, with what to use instead. This file goes with the next version."""

REMOVED = {
    "as_rubric": "as_rubric() was removed: write the rubric yourself, as docs/coming_from.md shows for OpenEnv.",
    "bridges": "trl_grpo_rewards.bridges was removed: docs/coming_from.md shows how to use a reward in OpenEnv.",
    "code.language": "code(language=...) was removed, since programs are Python: for another language, write a back end of "
    "your own, as in examples/fusion_sandbox.py.",
    "drop_dead_groups": "drop_dead_groups() was removed, since TRL replaces its asynchronous trainer: rewards still work there, "
    "and FilteredGRPOTrainer leaves out dead groups.",
    "from_rubric": "from_rubric() was removed, since verifiers 0.4 has no such rubrics: pass its functions through @reward.",
    "fusion": "Sandbox Fusion is no longer built in: copy examples/fusion_sandbox.py, and set "
    "backend='fusion_sandbox:FusionSandbox'.",
    "gym": "gym() was removed: copy the reward in examples/reasoning_gym_tasks.py, which scores a task with its own rule.",
    "hf": "Hugging Face Jobs is no longer built in: copy examples/hf_sandbox.py, and set backend='hf_sandbox:JobsSandbox'.",
    "live": "--live was removed: the trainer writes the report anew at checkpoints and evaluations, and an open page takes "
    "the new one.",
    "reasoning": "demo.reasoning() was removed: examples/reasoning_gym_tasks.py makes the dataset.",
    "reasoning_gym": "--dataset_name reasoning_gym:... was removed: examples/reasoning_gym_tasks.py makes the dataset.",
    "witness": "witness= was removed: add the reward with weight 0, as in boxed() + 0 * judge(model=...).",
    "witness_share": "witness_share= was removed: a witness is a term of weight 0, which scores every group.",
}
"""The names, options and flags that are gone, each with one sentence."""
