"""Composites, transforms and filters 4:2:0 pictures. Independent of files and time."""
