"""Speech to text with word times, on this machine and without network.

Samples in, a `Transcript` out. Knows no file, no organization and no job; never decodes media.
"""
