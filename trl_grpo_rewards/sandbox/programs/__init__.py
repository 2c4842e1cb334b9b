"""Programs that a model wrote: the tests of a dataset, what is sent to a sandbox, and how its output is judged."""
