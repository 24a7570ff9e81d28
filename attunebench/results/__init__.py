"""Result files, made and read. Everything that knows what is in one is in this package."""
