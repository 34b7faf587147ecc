"""When a loop over particles is worth a team of threads.

A team pays 1.9x on two idle cores, but when other programs use the cores every parallel region
waits for a thread to be scheduled (16 ms measured, against 0.3 ms for the loop itself on 8000
particles).  So threads start where the serial loop takes about a millisecond.
"""

PARALLEL_ROWS = 16384
