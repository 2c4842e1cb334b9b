"""Shared code of the scripts: the options of a job, its datasets, and the output of a run."""
