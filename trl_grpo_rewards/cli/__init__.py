"""The command `trl-grpo-rewards`: what its subcommands do, the options of a job, its datasets, and the output of a run."""
