"""Plans: a plan is a pure list of episodes; goals and seeds follow from keys."""
