"""Renders layer configs: fetched sources, painters, and the scene items of each frame.

`composition.layers` computes what is visible when; `compositor` composites the pixels.
"""
