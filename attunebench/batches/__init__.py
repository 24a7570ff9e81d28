"""The benchmark's calls in files of requests, for engines that take them all at once, and their answers back.

What is asked and how a reply is read is the runner's."""
