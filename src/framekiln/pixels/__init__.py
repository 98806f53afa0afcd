"""Colour conversion, blending, warping, filling and comparison of 8-bit images.

`conversion`, `blend`, `warp`, `surface` and `comparison` are the interface; their results are the
same on every processor. They use `kernel.c` if it was
built, and `numpy_kernel` otherwise; both give the same bytes. Knows no files, codecs or frames.
"""
