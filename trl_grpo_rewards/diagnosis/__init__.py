"""What is wrong with a run: series of what it logged, the rules that judge them, and the table of their warnings."""
