"""The library of rewards, a topic a file."""

from .answers import answer, boxed, choice, exact
from .formats import json_text, script, tags, xml_text
from .judges import judge, ranking
from .lengths import cosine, length, overlong, shortest, truncated
from .patterns import keywords, pattern


__all__ = [
    "answer",
    "boxed",
    "choice",
    "cosine",
    "exact",
    "json_text",
    "judge",
    "keywords",
    "length",
    "overlong",
    "pattern",
    "ranking",
    "script",
    "shortest",
    "tags",
    "truncated",
    "xml_text",
]
