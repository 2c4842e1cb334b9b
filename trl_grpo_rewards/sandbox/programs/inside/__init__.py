"""Runs inside the sandbox. Must run on Python 3.8 without this package."""
