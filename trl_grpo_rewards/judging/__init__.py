"""The basis of rewards that ask another model: the prompts they send, the replies they read, and the servers."""
