"""Media that compositions use: what was uploaded, and what was fetched from a URL."""
