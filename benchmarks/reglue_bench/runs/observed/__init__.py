"""Recording of a run's observations and actions beside the ledger: the source of its dataset.

Parts are written as episodes are played; an episode counts once the ledger holds its try. So a
process that is killed at any point leaves nothing to mend: what the ledger does not hold is played
again, and what is here without it is deleted. A disk that is full costs episodes of the dataset,
never the run.
"""

from reglue_bench.runs.observed.observed_reader import ObservedReader, counted
from reglue_bench.runs.observed.observed_storage import ObservedEpisode
from reglue_bench.runs.observed.observed_writer import ObservedWriter

__all__ = ["ObservedEpisode", "ObservedReader", "ObservedWriter", "counted"]
