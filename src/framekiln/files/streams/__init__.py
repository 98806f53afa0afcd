"""Streamed uploads: a video is sent as fragments, each of which is verified when it arrives."""
