# RL_benchmark of the RL-Glue concepts page: the average return over 1000 episodes, averaged again over 100 runs.
# `rl_benchmark.jl [RUNS [EPISODES]]` plays fewer of them.
#
#     reglue glue --listen 127.0.0.1:4096 …          # and an agent and an environment join it
#     REGLUE_ADDRESS=127.0.0.1:4096 REGLUE_TOKEN=SECRET julia --project=. examples/rl_benchmark.jl 10 100

using Reglue

const MOST_STEPS = 10_000_000

"The average return of `episodes` episodes of a naive agent."
function run(rl, seed, episodes)
    rl_init!(rl; seed = seed)
    sum = 0.0
    for _ in 1:episodes
        rl_episode!(rl, MOST_STEPS)
        sum += rl_return(rl)
    end
    rl_cleanup!(rl)
    return sum / episodes
end

function benchmark(rl, runs, episodes)
    sum = 0.0
    for seed in 0:runs-1
        sum += run(rl, seed, episodes)
    end
    return sum / runs
end

const RUNS = length(ARGS) > 0 ? parse(Int, ARGS[1]) : 100
const EPISODES = length(ARGS) > 1 ? parse(Int, ARGS[2]) : 1000

Reglue.main(rl -> println(benchmark(rl, RUNS, EPISODES)); name = "RL_benchmark")
