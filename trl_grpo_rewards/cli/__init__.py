"""What the commands share: the options of a job, its datasets, and what a run prints."""
