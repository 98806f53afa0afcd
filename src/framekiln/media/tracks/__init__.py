"""Splits an upload into track files and an index: copied where possible, otherwise re-encoded."""
