"""An uploaded film into track files and an index: copied where possible, else encoded."""
