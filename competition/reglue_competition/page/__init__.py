"""The page of a competition: leaderboard, submissions, a team's own view and the organiser's."""
