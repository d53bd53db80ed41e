"""A simulator of runs: the real program, with threads, time, processes and a network of its own.

`python -m tests.simulator` plays worlds, each by a seed that draws what happens and when. A failing
seed fails always. Read in this order:

1. `scheduler`: threads, of which one goes on at a time, in virtual time.
2. `virtual_threads`, `virtual_sockets`, `virtual_processes`: Python's modules that use it.
3. `virtual_network` and `virtual_grpc`: calls between processes, which may be late, or break;
   `wrong_answers`: what some of them say.
4. `substitution`: puts these in the place of Python's before the program is imported.
5. `worlds`: the processes of a run, and its properties; `disturbances`: kills, stops and cuts.
6. `simulated_seed`: the run of a seed; `simulate`: many of them. `faults`: what has to be found;
   `failed_seeds`: what failed once.
"""
