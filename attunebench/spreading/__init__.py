"""A run's conversations over several processes of a cluster: one queue, and a journal file for each process.

`shares` divides what a run may take, `desk` hands out jobs and gathers news, `lives` keeps as many processes at work as
were asked for; these know no cluster. `ray` knows one, and is imported by whoever has it.
"""
