"""AttuneBench."""
