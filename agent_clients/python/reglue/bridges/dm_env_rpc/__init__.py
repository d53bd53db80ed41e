"""dm_env_rpc: its servers as environments, and our benchmarks for its clients."""
