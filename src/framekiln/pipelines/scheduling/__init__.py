"""Where runs and their steps stand, and what follows from it. Pure."""
