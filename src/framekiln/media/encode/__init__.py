"""Films written: pictures encoded, slices and sound joined."""
