"""Constraints on a text that a rule decides, those of IFEval and IFBench. Each is a function in the file of its topic."""

from . import characters, formats, languages, layouts, lengths, occurrences, sentences, single_tasks


__all__ = ["characters", "formats", "languages", "layouts", "lengths", "occurrences", "sentences", "single_tasks"]
