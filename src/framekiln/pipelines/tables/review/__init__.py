"""The rows of review tasks."""
