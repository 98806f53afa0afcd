"""What layers show: one module for each kind of source, each a `Painter`."""
