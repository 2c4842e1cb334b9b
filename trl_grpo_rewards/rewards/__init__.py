"""The library of rewards, a topic a file."""

from .answers import boxed
from .formats import tags
from .lengths import length
from .patterns import keywords, pattern


__all__ = ["boxed", "keywords", "length", "pattern", "tags"]
