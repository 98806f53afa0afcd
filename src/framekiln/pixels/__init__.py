"""Colour conversion of 8-bit pictures in integers: the same bytes on every processor.

`conversion` is what others call. It uses `kernel.c` where that was built, and `plain` elsewhere;
both give the same bytes. Knows no file, no codec and no frame.
"""
