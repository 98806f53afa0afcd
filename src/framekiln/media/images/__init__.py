"""Images: safe inspection, decoding and encoding."""
