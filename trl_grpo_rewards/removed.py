"""What earlier versions had and this one does not, with what to use instead. This file goes with the next version."""

REMOVED = {
    "as_rubric": "as_rubric() was removed: write the rubric yourself, as docs/coming_from.md shows for OpenEnv.",
    "bridges": "trl_grpo_rewards.bridges was removed: docs/coming_from.md shows how to use a reward in OpenEnv.",
    "code.backend=hf": "backend='hf' was removed: copy examples/hf_sandbox.py, and set backend='hf_sandbox:JobsSandbox'.",
    "code.backend=http": "backend='http://...' was removed: copy examples/fusion_sandbox.py, and set "
    "backend='fusion_sandbox:FusionSandbox'.",
    "code.language": "code(language=...) was removed, since programs are Python: for another language, write a reward of your "
    "own that asks a server, as examples/fusion_sandbox.py does.",
    "code.max_concurrency": "code(max_concurrency=...) was removed: a back end of your own sets its own limit.",
    "code.retries": "code(retries=...) was removed: a back end of your own repeats its requests itself.",
    "drop_dead_groups": "drop_dead_groups() was removed, since TRL replaces its asynchronous trainer: rewards still work there, "
    "and FilteredGRPOTrainer leaves out dead groups.",
    "from_rubric": "from_rubric() was removed, since verifiers 0.4 has no such rubrics: pass its functions through @reward.",
    "gym": "gym() was removed: copy the reward in examples/reasoning_gym_tasks.py, which scores a task with its own rule.",
    "live": "--live was removed: the train command writes the report anew at checkpoints and evaluations, and a button on "
    "the page loads it.",
    "reasoning": "demo.reasoning() was removed: examples/reasoning_gym_tasks.py makes the dataset.",
    "reasoning_gym": "--dataset_name reasoning_gym:... was removed: examples/reasoning_gym_tasks.py makes the dataset.",
    "witness": "witness= was removed: add the reward with weight 0, as in boxed() + 0 * judge(model=...).",
    "witness_share": "witness_share= was removed: a witness is a term of weight 0, which scores every group.",
}
"""The names, options and flags that are gone, each with one sentence."""
