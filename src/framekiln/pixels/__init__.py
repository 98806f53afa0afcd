"""Colour conversion, blending and warping of 8-bit images: the same bytes on every processor.

`conversion`, `blend` and `warp` are the interface. They use `kernel.c` if it was built, and
`numpy_kernel` otherwise; both give the same bytes. Knows no files, codecs or frames.
"""
