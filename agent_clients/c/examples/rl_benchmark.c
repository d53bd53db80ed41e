/* RL_benchmark of the RL-Glue concepts page: the average return over 1000 episodes, averaged again over
 * 100 runs. `rl_benchmark [RUNS [EPISODES]]` plays fewer of them.
 *
 *     reglue glue --listen 127.0.0.1:4096 --experiment-token SECRET …     # an agent and an environment join it
 *     REGLUE_ADDRESS=127.0.0.1:4096 REGLUE_TOKEN=SECRET ./rl_benchmark 10 100
 */
#include <stdio.h>
#include <stdlib.h>

#include <reglue.h>

enum { MOST_STEPS = 10000000 };

/* The average return of `episodes` episodes of a naive agent. */
static int run(reglue_experiment *rl, uint64_t seed, long episodes, double *average)
{
    double sum = 0, episode_return = 0;
    int rc = reglue_rl_init(rl, 1, seed, NULL, 0, NULL);
    for (long episode = 0; rc == REGLUE_OK && episode < episodes; ++episode) {
        rc = reglue_rl_episode(rl, MOST_STEPS, NULL, 0, NULL);
        if (rc == REGLUE_OK) rc = reglue_rl_return(rl, 0, &episode_return);
        sum += episode_return;
    }
    *average = sum / (double)episodes;
    return rc == REGLUE_OK ? reglue_rl_cleanup(rl) : rc;
}

static int benchmark(reglue_experiment *rl, long runs, long episodes, double *performance)
{
    double sum = 0, average = 0;
    int rc = REGLUE_OK;
    for (long i = 0; rc == REGLUE_OK && i < runs; ++i) {
        rc = run(rl, (uint64_t)i, episodes, &average);
        sum += average;
    }
    *performance = sum / (double)runs;
    return rc;
}

int main(int argc, char **argv)
{
    long runs = argc > 1 ? atol(argv[1]) : 100, episodes = argc > 2 ? atol(argv[2]) : 1000;
    if (runs < 1 || episodes < 1) {
        fputs("usage: rl_benchmark [RUNS [EPISODES]], each 1 or more\n", stderr);
        return 2;
    }
    reglue_options options = {0};
    options.name = "RL_benchmark";
    reglue_experiment *rl;
    double performance;
    int rc = reglue_experiment_connect(&options, &rl);
    if (rc == REGLUE_OK) rc = benchmark(rl, runs, episodes, &performance);
    if (rc == REGLUE_OK)
        printf("%.17g\n", performance);
    else
        fprintf(stderr, "rl_benchmark: %s: %s\n", reglue_result_name(rc), reglue_experiment_errmsg(rl));
    reglue_experiment_close(rl);
    return reglue_exit_code(rc);
}
