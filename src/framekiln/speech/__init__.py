"""Speech to text with word times, on this machine and without network.

Takes samples and returns a `Transcript`. It knows no files, organizations or jobs, and never
decodes media.
"""
