"""A layer config becomes pictures: sources, sprites, and the list of things of each frame.

What is seen when is known by `composition.layers`; how pixels are put together, by `compositor`.
"""
