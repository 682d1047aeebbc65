"""How fast environments are: what ``simulacrum bench`` and the battery's ``throughput`` check measure, and how.

``measure`` times what is done by turns in one process; ``sides`` makes what is timed: the reference, each fast form, a
yardstick that carries a figure to any machine, a copy of memory; ``sweep`` goes through batch sizes and thread counts;
``memory`` weighs an instance; ``layers`` tells where one step's microseconds go; ``tables`` and ``plot`` show it all.
"""
