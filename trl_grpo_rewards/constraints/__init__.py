"""Constraints on a text that a rule decides, those of IFEval and IFBench. Each is a function in the file of its topic."""

from . import formats, occurrences, sentences


__all__ = ["formats", "occurrences", "sentences"]
