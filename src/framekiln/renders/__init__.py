"""Renders (v1): an HTML composition becomes an MP4."""
