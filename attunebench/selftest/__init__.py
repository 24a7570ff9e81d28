"""The engine's proof: a server that misbehaves on purpose, real runs against it, and what must hold afterwards.

`server` is the server, `behaviours` what it can do, `answers` what it says when it behaves. Nothing else in the package
imports from here but the command `selftest`; what is asked of a model, and what an answer is worth, is not known here.
"""
