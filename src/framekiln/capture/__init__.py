"""Chromium: the process, its sandbox, its protocol, and pages driven frame by frame."""
