"""The pictures of a film: decoding them, and the one on screen at an instant."""
