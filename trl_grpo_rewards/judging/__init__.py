"""What the rewards that ask another model stand on: what is sent, what is read, and how servers are asked."""
