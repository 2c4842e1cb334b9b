"""Says what to use instead of `drop_dead_groups`, which version 0.2 had here. This file goes with the next version."""

from ..removed import REMOVED


raise ImportError(REMOVED["drop_dead_groups"])
