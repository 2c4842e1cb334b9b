"""The library of rewards, a topic a file."""

from .answers import answer, boxed, choice, exact
from .formats import tags
from .judges import judge, ranking
from .lengths import length
from .patterns import keywords, pattern


__all__ = ["answer", "boxed", "choice", "exact", "judge", "keywords", "length", "pattern", "ranking", "tags"]
