"""The rows of the steps of runs and their windows."""
