"""Constraints on a text that a rule decides, of IFEval, IFBench and IF-RLVR. Each is a function in the file of its topic."""

from . import formats, occurrences, sentences, training


__all__ = ["formats", "occurrences", "sentences", "training"]
