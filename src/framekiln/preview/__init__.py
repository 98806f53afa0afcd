"""`framekiln preview`: shows a composition in a browser while it is written, and renders it.

The frames are those of the film: a `FrameThread` keeps a renderer open, and the page asks for
frames by their numbers. Needs neither the service nor a database.
"""
