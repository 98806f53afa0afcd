"""Transcriptions of files, made in slices by any number of workers."""
