/* Wrong uses, a row each: the use, its call, the result that it must give, and words of its message. A wrong use changes
 * nothing: rows with OK succeed between them. `misuse agent`, `misuse environment` and `misuse experiment` are run with
 * a glue, `misuse` without one. Exit code 0 if all rows are right. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <reglue.h>

static const char *role;
static reglue_session *session; /* one of these, by the role */
static reglue_environment *env;
static reglue_experiment *rl;
static int wrong;

static const char *message(void)
{
    if (strcmp(role, "environment") == 0) return reglue_environment_errmsg(env);
    return strcmp(role, "experiment") == 0 ? reglue_experiment_errmsg(rl) : reglue_errmsg(session);
}

static void row(const char *use, int got, int wanted, const char *words)
{
    if (got == wanted && strstr(message(), words)) return;
    fprintf(stderr, "%s: got %s, wanted %s and '%s': %s\n", use, reglue_result_name(got),
            reglue_result_name(wanted), words, message());
    wrong = 1;
}

#define ROW(use, call, result, words) row(use, call, REGLUE_##result, words)

/* Without a glue. */

static int to_nobody(reglue_options options)
{
    reglue_close(session);
    if (!options.address) options.address = "127.0.0.1:1";
    options.token = "T";
    return reglue_connect(&options, &session);
}

static void alone(void)
{
    const reglue_call *call;
    ROW("no place for a session", reglue_connect(NULL, NULL), USAGE, "got no session");
    ROW("next of no session", reglue_next(NULL, &call), USAGE, "got no session");
    ROW("act of no session", reglue_act(NULL, NULL, 0), USAGE, "got no session");
    ROW("answer of no session", reglue_answer(NULL, ""), USAGE, "got no session");
    ROW("fault of no session", reglue_fault(NULL, ""), USAGE, "got no session");
    reglue_stop(NULL);
    reglue_close(NULL);
    ROW("a wrong address", to_nobody((reglue_options){.address = "nowhere"}), USAGE, "nowhere");
    ROW("a wrong transport", to_nobody((reglue_options){.transport = 9}), USAGE, "got transport 9");
    ROW("a wrong ability", to_nobody((reglue_options){.abilities = 64}), USAGE, "got abilities 64");
    ROW("a negative connect timeout", to_nobody((reglue_options){.connect_timeout_s = -1}), USAGE,
        "connect timeout");
    ROW("connect", to_nobody((reglue_options){0}), OK, "");
    ROW("no place for a call", reglue_next(session, NULL), USAGE, "got NULL");
    ROW("a negative time limit", reglue_next_within(session, -1, &call), USAGE, "got a timeout of -1");
    ROW("act before a call", reglue_act(session, NULL, 0), MISUSE, "reglue_next comes first");
    ROW("answer before a call", reglue_answer(session, ""), MISUSE, "reglue_next comes first");
    reglue_close(session);
}

/* An agent. */

static void say(const char *line, void *where)
{
    fprintf(where, "logged: %s\n", line);
}

static void play(const reglue_call *call)
{
    const reglue_call *next;
    if (call->kind == REGLUE_INIT) fprintf(stderr, "%s\n", call->spec->extra);
    if (call->kind == REGLUE_TURN) {
        ROW("next before the answer", reglue_next(session, &next), MISUSE, "reglue_act comes first");
        ROW("an answer to no message", reglue_answer(session, "hello"), MISUSE, "no message to answer");
        ROW("no slots to abandon", reglue_act(session, NULL, 1), USAGE, "got NULL");
        ROW("act", reglue_act(session, NULL, 0), OK, "");
    }
    if (call->kind == REGLUE_MESSAGE) {
        ROW("an answer without a text", reglue_answer(session, NULL), USAGE, "got NULL");
        ROW("an answer that is no UTF-8", reglue_answer(session, "\xff"), USAGE, "UTF-8");
        ROW("a negative time limit", reglue_next_within(session, -1, &next), USAGE, "got a timeout of -1");
        ROW("answer", reglue_answer(session, call->text), OK, "");
    }
    ROW("act after the answer", reglue_act(session, NULL, 0), MISUSE, "no turn to act in");
}

static void agent(void)
{
    const reglue_call *call;
    reglue_set_log(say, stderr);
    int rc = reglue_connect(NULL, &session);
    if (rc == REGLUE_OK)
        while ((rc = reglue_next(session, &call)) == REGLUE_CALL) play(call);
    ROW("the farewell", rc, DONE, "that was all");
    ROW("next after the farewell", reglue_next(session, &call), MISUSE, "the session is over");
    ROW("fault after the farewell", reglue_fault(session, "too late"), MISUSE, "over already");
    reglue_close(session);
}

/* An environment. */

static int ready(const reglue_spec *spec, const reglue_task *task, uint32_t offers)
{
    return reglue_environment_ready(env, spec, task, task != NULL, offers);
}

static void env_init(void)
{
    const uint64_t n = 3;
    reglue_tensor seen = {.name = "seen", .dtype = 99, .domain = REGLUE_BOX};
    reglue_tensor done = {.name = "done", .dtype = REGLUE_INT64, .domain = REGLUE_DISCRETE, .n = &n, .ns = 1};
    reglue_task task = {.name = "walk", .variants = 0};
    reglue_spec spec = REGLUE_SPEC_DEFAULTS;
    ROW("no spec", ready(NULL, NULL, 0), USAGE, "got NULL");
    ROW("no tasks", reglue_environment_ready(env, &spec, NULL, 1, 0), USAGE, "got NULL");
    ROW("a spec without tensors", ready(&spec, NULL, 0), USAGE, "observations: got none");
    spec.observation_count = spec.action_count = 1;
    ROW("no tensors", ready(&spec, NULL, 0), USAGE, "observations: got NULL");
    spec.observations = &seen;
    spec.actions = &done;
    spec.extra = "three doors";
    ROW("a wrong dtype", ready(&spec, NULL, 0), USAGE, "seen: got dtype 99");
    seen.dtype = REGLUE_FLOAT64;
    seen.domain = 99;
    ROW("a wrong domain", ready(&spec, NULL, 0), USAGE, "seen: got domain 99");
    seen.domain = REGLUE_BOX;
    seen.lows = 1;
    ROW("no bounds", ready(&spec, NULL, 0), USAGE, "seen's low: got NULL");
    seen.lows = 0;
    ROW("a task without variants", ready(&spec, &task, 0), USAGE, "no variants");
    task.variants = 1;
    ROW("a wrong offer", ready(&spec, &task, 1u << 31), USAGE, "got offers 2147483648");
    ROW("ready", ready(&spec, &task, REGLUE_STATES), OK, "");
}

static void env_play(const reglue_environment_call *call)
{
    const reglue_environment_call *next;
    row("actions if slots step", call->actions != NULL, call->steps != 0, "");
    ROW("next before the answer", reglue_environment_next(env, &next), MISUSE, "waits for its answer");
    ROW("an answer to no message", reglue_environment_answer(env, "hello"), MISUSE, "no message to answer");
    ROW("a play refused", reglue_environment_refuse(env, REGLUE_UNKNOWN_KEY, "", ""), MISUSE, "fault_slot");
    ROW("a fault of another slot", reglue_environment_fault_slot(env, 7, "none"), USAGE, "got slot 7");
    ROW("a fault without words", reglue_environment_fault_slot(env, 0, NULL), USAGE, "got NULL");
    if (call->starts) ROW("fault_slot", reglue_environment_fault_slot(env, 0, "it broke"), OK, "");
    ROW("played", reglue_environment_played(env), OK, "");
}

static void env_get_state(void)
{
    ROW("a state without bytes", reglue_environment_snapshot(env, NULL, 1), USAGE, "got NULL");
    ROW("a wrong code", reglue_environment_refuse(env, REGLUE_BUSY, "", ""), USAGE, "got code 15");
    ROW("refuse", reglue_environment_refuse(env, REGLUE_OUT_OF_ORDER, "no episode", "a start"), OK, "");
}

static void env_message(const char *text)
{
    const reglue_environment_call *next;
    ROW("an answer without a text", reglue_environment_answer(env, NULL), USAGE, "got NULL");
    ROW("an answer that is no UTF-8", reglue_environment_answer(env, "\xff"), USAGE, "UTF-8");
    ROW("a negative time limit", reglue_environment_next_within(env, -1, &next), USAGE,
        "got a timeout of -1");
    ROW("answer", reglue_environment_answer(env, text), OK, "");
}

static void carry_out(const reglue_environment_call *call)
{
    switch (call->kind) {
    case REGLUE_ENV_INIT: env_init(); break;
    case REGLUE_ENV_PLAY: env_play(call); break;
    case REGLUE_ENV_GET_STATE: env_get_state(); break;
    case REGLUE_ENV_MESSAGE: env_message(call->text); break;
    default: break;
    }
    ROW("played after the answer", reglue_environment_played(env), MISUSE, "no play to answer");
    ROW("a state after the answer", reglue_environment_snapshot(env, "", 0), MISUSE, "no state");
}

static void environment(void)
{
    const reglue_environment_call *call;
    ROW("no place for an environment", reglue_environment_connect(NULL, NULL), USAGE, "got no environment");
    ROW("next of no environment", reglue_environment_next(NULL, &call), USAGE, "got no environment");
    int rc = reglue_environment_connect(NULL, &env);
    if (rc == REGLUE_OK)
        while ((rc = reglue_environment_next(env, &call)) == REGLUE_CALL) carry_out(call);
    ROW("the farewell", rc, DONE, "that was all");
    ROW("next after the farewell", reglue_environment_next(env, &call), MISUSE, "the session is over");
    ROW("fault after the farewell", reglue_environment_fault(env, "too late"), MISUSE, "over already");
    reglue_environment_close(env);
}

/* A benchmark program. */

static void routines(void)
{
    const uint32_t first = 0, none = 7, twice[] = {0, 0};
    const double reward = 0;
    const void *const null[] = {NULL};
    const char *answer;
    const reglue_rows *rows;
    ROW("start before init", reglue_rl_start(rl, NULL, 0, &rows), OUT_OF_ORDER, "RL_init");
    ROW("init of no slots", reglue_rl_init(rl, 0, 0, NULL, 0, NULL), OUT_OF_DOMAIN,
        "got slots 0, wanted an integer from 1 to 4294967295");
    ROW("a seed out of range", reglue_rl_init(rl, 1, UINT64_MAX, NULL, 0, NULL), OUT_OF_DOMAIN,
        "got seed 18446744073709551615");
    ROW("init", reglue_rl_init(rl, 2, INT64_MAX, NULL, 0, NULL), OK, "");
    ROW("step before start", reglue_rl_step(rl, NULL, 0, &rows), OUT_OF_ORDER, "RL_start");
    ROW("start", reglue_rl_start(rl, NULL, 0, &rows), OK, "");
    ROW("an unknown slot", reglue_rl_step(rl, &none, 1, &rows), OUT_OF_DOMAIN, "got slot 7");
    ROW("a slot twice", reglue_rl_step(rl, twice, 2, &rows), OUT_OF_DOMAIN, "got slots [0, 0]");
    ROW("an unsupported routine", reglue_rl_set_state(rl, 0, "key"), NOT_SUPPORTED, "keeps its states");
    ROW("an unknown task", reglue_rl_init(rl, 1, 0, "none", 0, NULL), OUT_OF_DOMAIN, "none");
    ROW("a task that is no text", reglue_rl_init(rl, 1, 0, "\xff", 0, NULL), OUT_OF_DOMAIN, "UTF-8");
    ROW("no slots", reglue_rl_step(rl, NULL, 1, &rows), USAGE, "got NULL");
    ROW("no actions", reglue_rl_env_step(rl, &first, 1, null, &rows), USAGE, "got NULL, wanted the rows of");
    ROW("no observations", reglue_rl_agent_start(rl, &first, 1, null, &rows), USAGE, "got NULL");
    ROW("no rewards", reglue_rl_agent_step(rl, &first, 1, NULL, null, &rows), USAGE, "got NULL");
    ROW("no last observations", reglue_rl_agent_end(rl, &first, 1, &reward, null, 0), USAGE, "got NULL");
    ROW("no key of a state", reglue_rl_set_state(rl, 0, NULL), USAGE, "got NULL");
    ROW("no message", reglue_rl_agent_message(rl, NULL, &answer), USAGE, "got NULL");
    ROW("a message that is no text", reglue_rl_env_message(rl, "\xff", &answer), OUT_OF_DOMAIN, "UTF-8");
    ROW("a timeout of 0", reglue_experiment_timeout(rl, 0), USAGE, "wanted 1 to");
    ROW("a timeout of NaN", reglue_experiment_timeout(rl, NAN), USAGE, "timeout");
    ROW("step", reglue_rl_step(rl, NULL, 0, &rows), OK, "");
}

/* The agent and the environment have left. */
static void late_routines(void)
{
    ROW("timeout", reglue_experiment_timeout(rl, 0.1), OK, "");
    ROW("a routine that takes too long", reglue_rl_init(rl, 1, 0, NULL, 0, NULL), LOST,
        "longer than its 100 ms");
    ROW("a routine after that", reglue_rl_freeze(rl), LOST, "longer than its 100 ms");
}

static void experiment(void)
{
    ROW("no place for an experiment", reglue_experiment_connect(NULL, NULL), USAGE, "got no experiment");
    ROW("freeze of no experiment", reglue_rl_freeze(NULL), USAGE, "got no experiment");
    ROW("connect", reglue_experiment_connect(NULL, &rl), OK, "");
    routines();
    reglue_experiment_close(rl);
    ROW("connect again", reglue_experiment_connect(NULL, &rl), OK, "");
    late_routines();
    reglue_experiment_close(rl);
}

int main(int argc, char **argv)
{
    role = argc == 2 ? argv[1] : "";
    if (strcmp(role, "agent") == 0) {
        agent();
    } else if (strcmp(role, "environment") == 0) {
        environment();
    } else if (strcmp(role, "experiment") == 0) {
        experiment();
    } else {
        alone();
    }
    return wrong;
}
