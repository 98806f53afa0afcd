"""What was made once and is shown again: slices, sounds and whole films, by digest."""
