"""Single pictures: telling what they are, decoding and encoding them, safely."""
