"""Pixels only: pictures in 4:2:0, laid over each other, bent, tinted. Knows no file and no time."""
