"""One record of every group that was sampled: written during training, read and scored again afterwards."""

from .files import read_records


__all__ = ["read_records"]
