"""FFmpeg through PyAV: encoding, muxing, probing, decoding."""
