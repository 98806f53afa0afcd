"""Watching a video as HLS, also while it is being made."""
