"""Media that compositions use: what was fetched from a URL, and (to come) what was uploaded."""
