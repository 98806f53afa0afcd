"""Streamed uploads: a video is sent in fragments, each verified when it is received."""
