"""Segments for players: the renditions of a source, and how to make each segment."""
