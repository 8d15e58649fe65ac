"""How anything is measured here: where, how long, how much memory, and how it is written down.

`environment` is the record of machine, versions and commit that every result carries; `timing` runs jobs in turns, on
one thread; `tracing` says where the time of a job goes; `processes` runs a job in a process of its own and knows peak
memory; `tables` reads and writes tables. The boards of `noap.bench`, the trials of `noap.experiments` and the studies
in `benchmarks/` all use these and have none of their own.
"""
