"""Back ends that run untrusted programs. They know nothing of tests, rewards or expected values."""
