"""The rows of pipelines and their versions."""
