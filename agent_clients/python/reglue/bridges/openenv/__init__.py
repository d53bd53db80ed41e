"""OpenEnv: servers of typed actions as environments."""
