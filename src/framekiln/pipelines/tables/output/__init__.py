"""The rows of outputs."""
