"""What several rewards read texts with: arithmetic, JSON schemas and regular expressions. It knows nothing of rewards."""
