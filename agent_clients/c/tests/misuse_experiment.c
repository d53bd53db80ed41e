/* A benchmark program with two sessions: illegal requests, with an agent and an environment that then leave;
 * and routines that take longer than their timeout. Exit code 0 if all were refused. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <reglue.h>

static int wrong;

static void expect(int wanted, int got, const reglue_experiment *rl, const char *part)
{
    if (got == wanted && strstr(reglue_experiment_errmsg(rl), part)) return;
    fprintf(stderr, "got %s, wanted %s: %s\n", reglue_result_name(got), reglue_result_name(wanted),
            reglue_experiment_errmsg(rl));
    wrong = 1;
}

static void pass_null(reglue_experiment *rl)
{
    const uint32_t slot = 0;
    const double reward = 0;
    const void *const none[] = {NULL};
    const reglue_rows *rows;
    expect(REGLUE_OK, reglue_rl_init(rl, 1, 0, NULL, 0, NULL), rl, "");
    expect(REGLUE_OK, reglue_rl_start(rl, NULL, 0, &rows), rl, "");
    expect(REGLUE_USAGE, reglue_rl_env_step(rl, &slot, 1, none, &rows), rl, "got NULL, wanted the rows of");
    expect(REGLUE_USAGE, reglue_rl_agent_start(rl, &slot, 1, none, &rows), rl, "got NULL");
    expect(REGLUE_USAGE, reglue_rl_agent_step(rl, &slot, 1, NULL, none, &rows), rl, "got NULL");
    expect(REGLUE_USAGE, reglue_rl_agent_end(rl, &slot, 1, &reward, none, 0), rl, "got NULL");
    expect(REGLUE_USAGE, reglue_rl_step(rl, NULL, 1, &rows), rl, "got NULL");
    expect(REGLUE_USAGE, reglue_experiment_timeout(rl, 0), rl, "wanted 1 to");
    expect(REGLUE_USAGE, reglue_experiment_timeout(rl, NAN), rl, "timeout");
    expect(REGLUE_OK, reglue_rl_step(rl, NULL, 0, &rows), rl, "");
}

static void wait_too_long(reglue_experiment *rl)
{
    expect(REGLUE_OK, reglue_experiment_timeout(rl, 0.1), rl, "");
    expect(REGLUE_LOST, reglue_rl_init(rl, 1, 0, NULL, 0, NULL), rl, "longer than its 100 ms");
    expect(REGLUE_LOST, reglue_rl_freeze(rl), rl, "longer than its 100 ms");
}

static void with_experiment(void (*ask)(reglue_experiment *))
{
    reglue_experiment *rl;
    int rc = reglue_experiment_connect(NULL, &rl);
    expect(REGLUE_OK, rc, rl, "");
    ask(rl);
    reglue_experiment_close(rl);
}

int main(void)
{
    with_experiment(pass_null);
    with_experiment(wait_too_long);
    return wrong;
}
