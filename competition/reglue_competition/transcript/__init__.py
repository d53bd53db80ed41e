"""A run's transcript: a file by which anybody can check its score."""

from reglue_competition.transcript.reading import Transcript
from reglue_competition.transcript.verification import Verdict, check_plan, verify
from reglue_competition.transcript.writing import RunIdentity, write_transcript

__all__ = ["RunIdentity", "Transcript", "Verdict", "check_plan", "verify", "write_transcript"]
