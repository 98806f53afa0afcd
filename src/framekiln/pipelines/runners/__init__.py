"""What does the built-in steps, a module for each type."""
