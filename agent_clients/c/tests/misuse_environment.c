/* An environment that makes illegal requests in every call, and plays on; run it with a glue. Exit code 0 if all
 * were refused and the farewell arrived. */
#include <stdio.h>
#include <string.h>

#include <reglue.h>

static int wrong;

static void expect(int wanted, int got, const reglue_environment *env, const char *part)
{
    if (got == wanted && strstr(reglue_environment_errmsg(env), part)) return;
    fprintf(stderr, "got %s, wanted %s and '%s': %s\n", reglue_result_name(got), reglue_result_name(wanted),
            part, reglue_environment_errmsg(env));
    wrong = 1;
}

/* Wrong specs, one fault at a time, then the right one. */
static void init(reglue_environment *env)
{
    const uint64_t n = 3;
    reglue_tensor seen = {.name = "seen", .dtype = 99, .domain = REGLUE_BOX};
    reglue_tensor done = {.name = "done", .dtype = REGLUE_INT64, .domain = REGLUE_DISCRETE, .n = &n, .ns = 1};
    reglue_task task = {.name = "walk", .variants = 0};
    reglue_spec spec = REGLUE_SPEC_DEFAULTS;
    expect(REGLUE_USAGE, reglue_environment_ready(env, NULL, NULL, 0, 0), env, "got NULL");
    expect(REGLUE_USAGE, reglue_environment_ready(env, &spec, NULL, 1, 0), env, "got NULL");
    expect(REGLUE_USAGE, reglue_environment_ready(env, &spec, NULL, 0, 0), env, "observations: got none");
    spec.observation_count = spec.action_count = 1;
    expect(REGLUE_USAGE, reglue_environment_ready(env, &spec, NULL, 0, 0), env, "observations: got NULL");
    spec.observations = &seen;
    spec.actions = &done;
    spec.extra = "three doors";
    expect(REGLUE_USAGE, reglue_environment_ready(env, &spec, NULL, 0, 0), env, "seen: got dtype 99");
    seen.dtype = REGLUE_FLOAT64;
    seen.domain = 99;
    expect(REGLUE_USAGE, reglue_environment_ready(env, &spec, NULL, 0, 0), env, "seen: got domain 99");
    seen.domain = REGLUE_BOX;
    seen.lows = 1;
    expect(REGLUE_USAGE, reglue_environment_ready(env, &spec, NULL, 0, 0), env, "seen's low: got NULL");
    seen.lows = 0;
    expect(REGLUE_USAGE, reglue_environment_ready(env, &spec, &task, 1, 0), env, "no variants");
    task.variants = 1;
    expect(REGLUE_USAGE, reglue_environment_ready(env, &spec, &task, 1, 64), env, "got offers 64");
    expect(REGLUE_OK, reglue_environment_ready(env, &spec, &task, 1, REGLUE_STATES), env, "");
}

static void play(reglue_environment *env, const reglue_environment_call *call)
{
    expect(call->steps != 0, call->actions != NULL, env, "");
    const reglue_environment_call *next;
    expect(REGLUE_MISUSE, reglue_environment_next(env, &next), env, "waits for its answer");
    expect(REGLUE_MISUSE, reglue_environment_answer(env, "hello"), env, "no message to answer");
    expect(REGLUE_MISUSE, reglue_environment_refuse(env, REGLUE_UNKNOWN_KEY, "", ""), env, "fault_slot");
    expect(REGLUE_USAGE, reglue_environment_fault_slot(env, 7, "none"), env, "got slot 7");
    expect(REGLUE_USAGE, reglue_environment_fault_slot(env, 0, NULL), env, "got NULL");
    if (call->starts) expect(REGLUE_OK, reglue_environment_fault_slot(env, 0, "it broke"), env, "");
    expect(REGLUE_OK, reglue_environment_played(env), env, "");
}

static void get_state(reglue_environment *env)
{
    expect(REGLUE_USAGE, reglue_environment_snapshot(env, NULL, 1), env, "got NULL");
    expect(REGLUE_USAGE, reglue_environment_refuse(env, REGLUE_BUSY, "", ""), env, "got code 15");
    expect(REGLUE_OK, reglue_environment_refuse(env, REGLUE_OUT_OF_ORDER, "no episode", "a start"), env, "");
}

static void carry_out(reglue_environment *env, const reglue_environment_call *call)
{
    switch (call->kind) {
    case REGLUE_ENV_INIT: init(env); break;
    case REGLUE_ENV_PLAY: play(env, call); break;
    case REGLUE_ENV_GET_STATE: get_state(env); break;
    default: expect(REGLUE_MISUSE, reglue_environment_snapshot(env, "", 0), env, "no state"); return;
    }
    expect(REGLUE_MISUSE, reglue_environment_played(env), env, "no play to answer");
}

int main(void)
{
    reglue_environment *env;
    const reglue_environment_call *call;
    int rc = reglue_environment_connect(NULL, &env);
    if (rc == REGLUE_OK)
        while ((rc = reglue_environment_next(env, &call)) == REGLUE_CALL) carry_out(env, call);
    expect(REGLUE_DONE, rc, env, "");
    printf("%s\n", reglue_environment_errmsg(env));
    expect(REGLUE_MISUSE, reglue_environment_next(env, &call), env, "the session is over");
    expect(REGLUE_MISUSE, reglue_environment_fault(env, "too late"), env, "over already");
    reglue_environment_close(env);
    expect(REGLUE_USAGE, reglue_environment_next(NULL, &call), NULL, "got no environment");
    return wrong;
}
