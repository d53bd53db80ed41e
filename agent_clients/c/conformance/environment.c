/* The environment for `reglue conformance environment`: an observation is a function of its episode's cell
 * and actions. proto/CONFORMANCE.md describes it. */
#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rule.h"
#include "spec.h"
#include "text.h"

enum { NO_SLOT = -1 };

/* One slot's episode; all but the steps follow from its cell. */
typedef struct episode {
    uint32_t memory, rng, steps;
    uint32_t length;    /* steps */
    uint32_t times_out; /* truncated at its length, else terminated */
    uint32_t is_judged; /* success ends it */
} episode;

typedef struct environment {
    reglue_environment *session;
    spec_words plays; /* from the next init on */
    episode *episodes; /* of each slot */
    char *is_on;       /* 1: the slot has an episode */
    uint32_t slots;
    int is_standard;   /* then starts are numbered: */
    uint64_t seed, numbered;
    int64_t failing;   /* slot that fails in its next row, or NO_SLOT */
    unsigned long carried_out[REGLUE_ENV_CLEANUP + 1]; /* by kind */
    unsigned long starts, steps;
} environment;

static const char state_mark[] = "state", seed_mark[] = "rng";

static int init(environment *self, const reglue_environment_call *call)
{
    static const reglue_task tasks[] = {{"first", 4, 0}, {"second/\xc3\xa9\xc3\xa9n", 1, 0}};
    free(self->episodes);
    free(self->is_on);
    self->slots = call->slots;
    self->episodes = must_allocate(self->slots * sizeof *self->episodes);
    self->is_on = must_allocate(self->slots);
    self->is_standard = 0;
    self->failing = NO_SLOT;
    return reglue_environment_ready(self->session, &self->plays.spec, tasks, 2,
                                    REGLUE_STATES | REGLUE_PORTABLE_STATES | REGLUE_SEEDS |
                                        REGLUE_STANDARDIZES);
}

static episode begun(const reglue_cell *cell, uint64_t seed, uint64_t repeat)
{
    uint32_t memory = rule_take(RULE_START, cell->task, strlen(cell->task));
    memory = rule_take_number(memory, cell->variant, 4);
    memory = rule_take_number(memory, (uint64_t)cell->phase, 1);
    memory = rule_take_number(memory, cell->steps, 8);
    uint32_t rng = rule_take_number(rule_take_number(RULE_START, seed, 8), repeat, 8);
    return (episode){
        memory, rng, 0, (uint32_t)(2 + seed % 6), cell->variant % 2, cell->phase == REGLUE_EVALUATE};
}

/* Takes in the rng, and shows a row of observations. Returns how many elements that has. */
static uint64_t move(episode *on, const reglue_environment_call *call, uint64_t row)
{
    on->memory = rule_take_number(on->memory, on->rng, 4);
    on->rng = rule_draw(on->rng, 1);
    return rule_row(on->memory, call->spec->observations, call->spec->observation_count, call->observations,
                    row);
}

static int fail_if_due(environment *self, uint32_t slot)
{
    if (self->failing != (int64_t)slot) return REGLUE_OK;
    self->failing = NO_SLOT;
    self->is_on[slot] = 0;
    return reglue_environment_fault_slot(self->session, slot, "told to fail");
}

static uint32_t take_actions(uint32_t memory, const reglue_environment_call *call, uint64_t row)
{
    for (uint32_t i = 0; i < call->spec->action_count; ++i) {
        uint64_t bytes = call->spec->actions[i].row_bytes;
        const char *array = call->actions[i];
        if (bytes) memory = rule_take(memory, array + row * bytes, bytes);
    }
    return memory;
}

static uint8_t flags_of(episode *on, int success)
{
    int is_last = ++on->steps == on->length;
    uint8_t flags = success ? REGLUE_FLAG_SUCCESS : 0;
    if ((is_last && !on->times_out) || (success && on->is_judged)) flags |= REGLUE_FLAG_TERMINATED;
    if (is_last && on->times_out) flags |= REGLUE_FLAG_TRUNCATED;
    return flags;
}

static int step(environment *self, const reglue_environment_call *call, uint32_t row)
{
    uint32_t slot = call->step_slots[row];
    episode *on = &self->episodes[slot];
    if (!self->is_on[slot])
        return reglue_environment_fault_slot(self->session, slot, "a step without an episode");
    on->memory = take_actions(on->memory, call, row);
    uint64_t element = move(on, call, row);
    call->rewards[row] = rule_real(on->memory, element);
    call->flags[row] = flags_of(on, rule_flag(on->memory, element + 1));
    if (call->flags[row] & (REGLUE_FLAG_TERMINATED | REGLUE_FLAG_TRUNCATED)) self->is_on[slot] = 0;
    return fail_if_due(self, slot);
}

static int start(environment *self, const reglue_environment_call *call, uint32_t i)
{
    uint32_t slot = call->start_slots[i];
    const reglue_cell *cell = &call->cells[i];
    self->episodes[slot] =
        self->is_standard ? begun(cell, self->seed, self->numbered++) : begun(cell, cell->seed, cell->repeat);
    self->is_on[slot] = 1;
    move(&self->episodes[slot], call, (uint64_t)call->steps + i);
    return fail_if_due(self, slot);
}

static int play(environment *self, const reglue_environment_call *call)
{
    int rc = REGLUE_OK;
    for (uint32_t i = 0; i < call->steps && rc == REGLUE_OK; ++i) rc = step(self, call, i);
    for (uint32_t i = 0; i < call->starts && rc == REGLUE_OK; ++i) rc = start(self, call, i);
    self->steps += call->steps;
    self->starts += call->starts;
    return rc == REGLUE_OK ? reglue_environment_played(self->session) : rc;
}

/* Answers with the bytes of a value behind a mark. */
static int keep(environment *self, const char *mark, const void *value, size_t bytes)
{
    char snapshot[sizeof state_mark + sizeof(episode)];
    size_t head = strlen(mark);
    memcpy(snapshot, mark, head);
    memcpy(snapshot + head, value, bytes);
    return reglue_environment_snapshot(self->session, snapshot, head + bytes);
}

/* The value behind the mark; 0 if these are other bytes. */
static int recall(const reglue_environment_call *call, const char *mark, void *value, size_t bytes)
{
    size_t head = strlen(mark);
    if (call->snapshot_bytes != head + bytes || memcmp(call->snapshot, mark, head) != 0) return 0;
    memcpy(value, (const char *)call->snapshot + head, bytes);
    return 1;
}

/* A refused routine was not carried out. */
static int refuse(environment *self, const reglue_environment_call *call, int code, const char *got,
                  const char *wanted)
{
    --self->carried_out[call->kind];
    return reglue_environment_refuse(self->session, code, got, wanted);
}

static int refuse_slot(environment *self, const reglue_environment_call *call)
{
    char got[48];
    snprintf(got, sizeof got, "slot %lu without an episode", (unsigned long)call->slot);
    return refuse(self, call, REGLUE_OUT_OF_ORDER, got, "env_start there first");
}

static int refuse_bytes(environment *self, const reglue_environment_call *call, const char *wanted)
{
    char got[32];
    snprintf(got, sizeof got, "%llu bytes", (unsigned long long)call->snapshot_bytes);
    return refuse(self, call, REGLUE_UNKNOWN_KEY, got, wanted);
}

static int set_state(environment *self, const reglue_environment_call *call)
{
    if (!recall(call, state_mark, &self->episodes[call->slot], sizeof(episode)))
        return refuse_bytes(self, call, "a state of this environment");
    self->is_on[call->slot] = 1;
    return REGLUE_OK;
}

static int set_random_seed(environment *self, const reglue_environment_call *call)
{
    if (!recall(call, seed_mark, &self->episodes[call->slot].rng, sizeof(uint32_t)))
        return refuse_bytes(self, call, "a random seed of this environment");
    return REGLUE_OK;
}

static void say_counts(const environment *self, text *answer)
{
    static const char *const names[] = {"",
                                        "init",
                                        "",
                                        "get_state",
                                        "set_state",
                                        "get_random_seed",
                                        "set_random_seed",
                                        "standardize_randomness",
                                        "message",
                                        "cleanup"};
    text_add(answer, "{\"start\": %lu, \"step\": %lu", self->starts, self->steps);
    for (int kind = REGLUE_ENV_INIT; kind <= REGLUE_ENV_CLEANUP; ++kind)
        if (kind != REGLUE_ENV_PLAY) text_add(answer, ", \"%s\": %lu", names[kind], self->carried_out[kind]);
    text_add(answer, "}");
}

static int fail(environment *self)
{
    reglue_environment_fault(self->session, "told to fail");
    fputs("told to fail\n", stderr);
    return REGLUE_ENVIRONMENT_FAULT;
}

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static int message(environment *self, const char *request)
{
    if (strcmp(request, "fail") == 0) return fail(self);
    text answer = {0};
    text_clear(&answer);
    if (strncmp(request, "play\n", 5) == 0) spec_read(&self->plays, request + 5);
    if (strncmp(request, "fail ", 5) == 0) self->failing = strtoll(request + 5, NULL, 10);
    if (strncmp(request, "echo ", 5) == 0) text_add(&answer, "%s", request + 5);
    if (strncmp(request, "sleep ", 6) == 0) sleep_ms(atol(request + 6));
    if (strcmp(request, "counts") == 0) say_counts(self, &answer);
    int rc = reglue_environment_answer(self->session, answer.at);
    text_free(&answer);
    return rc;
}

/* Whether the slot has the episode that the call is about. */
static int has_episode(const environment *self, const reglue_environment_call *call)
{
    int kind = call->kind;
    int needs_one = kind == REGLUE_ENV_GET_STATE || kind == REGLUE_ENV_GET_RANDOM_SEED ||
                    kind == REGLUE_ENV_SET_RANDOM_SEED;
    return !needs_one || self->is_on[call->slot];
}

static int routine(environment *self, const reglue_environment_call *call)
{
    switch (call->kind) {
    case REGLUE_ENV_INIT: return init(self, call);
    case REGLUE_ENV_PLAY: return play(self, call);
    case REGLUE_ENV_GET_STATE: return keep(self, state_mark, &self->episodes[call->slot], sizeof(episode));
    case REGLUE_ENV_SET_STATE: return set_state(self, call);
    case REGLUE_ENV_GET_RANDOM_SEED:
        return keep(self, seed_mark, &self->episodes[call->slot].rng, sizeof(uint32_t));
    case REGLUE_ENV_SET_RANDOM_SEED: return set_random_seed(self, call);
    case REGLUE_ENV_STANDARDIZE:
        self->is_standard = 1;
        self->seed = call->seed;
        self->numbered = 0;
        return REGLUE_OK;
    case REGLUE_ENV_MESSAGE: return message(self, call->text);
    default:
        if (self->slots) memset(self->is_on, 0, self->slots);
        return REGLUE_OK;
    }
}

/* In slices, as a program waits that has more to do. */
static int next(const environment *self, const reglue_environment_call **call)
{
    int rc;
    do rc = reglue_environment_next_within(self->session, 0.01, call);
    while (rc == REGLUE_WAITING);
    return rc;
}

int main(void)
{
    environment self = {0};
    spec_read(&self.plays, "task -Infinity Infinity 1 0 0 1 1\nobservation observation float64 - box - -\n"
                           "action action float64 - box - -");
    self.failing = NO_SLOT;
    reglue_options options = {0};
    options.name = "ConformanceEnvironment";
    const reglue_environment_call *call;
    int rc = reglue_environment_connect(&options, &self.session);
    if (rc == REGLUE_OK)
        while ((rc = next(&self, &call)) == REGLUE_CALL) {
            ++self.carried_out[call->kind];
            rc = has_episode(&self, call) ? routine(&self, call) : refuse_slot(&self, call);
            if (rc != REGLUE_OK) break;
        }
    fprintf(stderr, "%s: %s\n", reglue_result_name(rc), reglue_environment_errmsg(self.session));
    reglue_environment_close(self.session);
    free(self.episodes);
    free(self.is_on);
    spec_free(&self.plays);
    return rc == REGLUE_DONE ? reglue_exit_code(rc) : 1;
}
