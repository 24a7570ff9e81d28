"""The engine's proof: a server that misbehaves on purpose, real runs against it, and what must hold afterwards."""
