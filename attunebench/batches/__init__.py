"""The benchmark's calls in files of requests, for engines that take them all at once, and their answers back.

Owns the OpenAI batch format, the table by which answers find their calls again, and the rounds in which a run is asked:
what needs no reply first, then judges and reasks. What is asked and how a reply is read is the runner's.
"""
