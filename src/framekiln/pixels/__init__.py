"""Colour conversion, blending, warping and comparison of 8-bit images, the same on every processor.

`conversion`, `blend`, `warp` and `comparison` are the interface. They use `kernel.c` if it was
built, and `numpy_kernel` otherwise; both give the same bytes. Knows no files, codecs or frames.
"""
