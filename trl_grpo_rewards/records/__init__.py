"""Records of the groups that a run samples. They are written during training, and read and scored again afterwards."""

from .files import read_records


__all__ = ["read_records"]
