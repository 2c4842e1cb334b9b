"""The report of a training run: one page about its groups, made from its records."""

from .pages import write_report


__all__ = ["write_report"]
