"""Text utilities that several rewards share: arithmetic, JSON schemas and regular expressions."""
