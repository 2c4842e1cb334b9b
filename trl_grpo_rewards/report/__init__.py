"""The report of a training run: one page about what its groups taught, made from its records."""

from .pages import write_report


__all__ = ["write_report"]
