"""Sound: exact samples, mixing, and measurements."""
