"""Media for compositions: uploaded files, and sources downloaded from URLs."""
