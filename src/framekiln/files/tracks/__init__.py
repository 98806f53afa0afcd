"""The tracks of files: their SQL."""
