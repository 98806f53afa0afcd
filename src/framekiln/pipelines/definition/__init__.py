"""Definitions of pipelines: what they are, and how they are read, checked and written. Pure."""
