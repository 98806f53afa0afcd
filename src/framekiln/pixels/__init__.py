"""Colour conversion and blending of 8-bit pictures: the same bytes on every processor.

`conversion` and `blend` are what others call. They use `kernel.c` where that was built, and
`plain` elsewhere; both give the same bytes. Knows no file, no codec and no frame.
"""
