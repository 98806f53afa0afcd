"""The slices of a render: which is made by whom."""
