"""Audio: exact samples, mixing, and measurements."""
