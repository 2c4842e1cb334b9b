"""The library of rewards, a topic a file."""

from .answers import answer, boxed, choice, exact
from .formats import json_text, script, tags, xml_text
from .judges import judge, ranking
from .lengths import cosine, length, overlong, shortest, truncated
from .patterns import citations, equations, keywords, pattern
from .texts import distinct, overlap, repetition


__all__ = [
    "answer",
    "boxed",
    "choice",
    "citations",
    "cosine",
    "distinct",
    "equations",
    "exact",
    "json_text",
    "judge",
    "keywords",
    "length",
    "overlap",
    "overlong",
    "pattern",
    "ranking",
    "repetition",
    "script",
    "shortest",
    "tags",
    "truncated",
    "xml_text",
]
