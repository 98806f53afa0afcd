"""Job handlers of renders, one module per queue: workers import only their own."""
