"""Segments for players: the renditions of a source, and how each segment is made."""
