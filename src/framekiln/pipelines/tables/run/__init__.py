"""The rows of runs."""
