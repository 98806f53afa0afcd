"""Pages whose motion is known: each layer is drawn once by Chromium, and frames are composed."""
