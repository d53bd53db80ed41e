"""Meta-World's step without its Python overhead, equal to the last bit.

Apart from the physics, a step of metaworld 3.1.1 spends most of its time in small NumPy and
SciPy calls and in look-ups by name. A StandIn shares the environment's attributes and
steps in its place: the same MuJoCo calls, upstream's own reward functions, bound to
cheaper versions of what they call. Nothing of metaworld is patched, so environments made
elsewhere in the process stay as they are.

See `proof` for where this is trusted; everywhere else the plain step plays.
"""

from env_adapters.metaworld.fast.stand_in import StandIn, stand_in

__all__ = ["StandIn", "stand_in"]
