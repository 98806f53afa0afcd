"""ISO base media files (fragmented MP4) read byte by byte: pure Python, knows no codec library."""
