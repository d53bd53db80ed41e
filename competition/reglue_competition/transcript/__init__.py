"""A run's transcript: a file by which anybody can check its score."""

from reglue_competition.transcript.transcript_reader import Transcript
from reglue_competition.transcript.transcript_writer import RunIdentity, write_transcript
from reglue_competition.transcript.verification import Verdict, check_plan, verify

__all__ = ["RunIdentity", "Transcript", "Verdict", "check_plan", "verify", "write_transcript"]
