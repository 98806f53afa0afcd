"""Renders layer configs: fetched sources, painters, and the scene items of each frame.

What is seen when is known by `composition.layers`; how pixels are put together, by `compositor`.
"""
