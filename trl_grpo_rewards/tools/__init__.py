"""Reads calls of tools and compares them with the expected ones."""
