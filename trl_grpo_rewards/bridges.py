"""This module was removed. Importing it says what to use instead. This file goes with `removed.py`."""

from .removed import REMOVED


raise ImportError(REMOVED["bridges"])
