"""States of runs and steps, and what follows from them. Pure."""
