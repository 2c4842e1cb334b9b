"""Mathematics as values: a text is read as a value, and two values are compared. `README.md` says where to add a rule."""
