"""Executes runs: every change of a run happens under its row lock."""
