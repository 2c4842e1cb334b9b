"""Verification of answers: finding the answer in a text, and comparing it with the gold answer."""
