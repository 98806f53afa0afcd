"""Composites, transforms and filters 4:2:0 pictures. Knows no file and no time."""
