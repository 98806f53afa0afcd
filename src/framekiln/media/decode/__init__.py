"""Decodes video frames, and finds the frame at a time."""
