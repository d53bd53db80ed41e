/* The benchmark program for `reglue conformance experiment`. It reports what it saw with RL_agent_message,
 * and the answer is its next instruction. proto/CONFORMANCE.md lists the instructions. */
#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "program.h"

enum { OTHER_INSTRUCTION = -1 };

static int begin(program *self)
{
    int rc = reglue_rl_init(self->rl, (uint32_t)self->first, self->second, NULL, 0, &self->spec);
    if (rc == REGLUE_OK) text_add_spec(&self->saw, self->spec);
    return rc;
}

static int say_counts(program *self)
{
    double sum;
    uint64_t steps, episodes;
    int rc = reglue_rl_return(self->rl, self->slots[0], &sum);
    if (rc == REGLUE_OK) rc = reglue_rl_num_steps(self->rl, self->slots[0], &steps);
    if (rc == REGLUE_OK) rc = reglue_rl_num_episodes(self->rl, self->slots[0], &episodes);
    if (rc == REGLUE_OK)
        text_add(&self->saw, "%.17g %llu %llu", sum, (unsigned long long)steps, (unsigned long long)episodes);
    return rc;
}

static int wait_ms(uint64_t ms)
{
    struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)};
    nanosleep(&time, NULL);
    return REGLUE_OK;
}

/* Those that a text follows; OTHER_INSTRUCTION if it is none. */
static int with_text(program *self, const char *routine, const char *rest)
{
    const char *answer = NULL;
    int rc = OTHER_INSTRUCTION;
    if (strcmp(routine, "agent_message") == 0) rc = reglue_rl_agent_message(self->rl, rest, &answer);
    if (strcmp(routine, "env_message") == 0) rc = reglue_rl_env_message(self->rl, rest, &answer);
    if (rc != OTHER_INSTRUCTION) return say_text(self, rc, answer);
    char *key;
    uint32_t slot = (uint32_t)strtoul(rest, &key, 10);
    key += *key == ' ';
    if (strcmp(routine, "set_state") == 0) return reglue_rl_set_state(self->rl, slot, key);
    if (strcmp(routine, "set_random_seed") == 0) return reglue_rl_set_random_seed(self->rl, slot, key);
    return OTHER_INSTRUCTION;
}

/* How many numbers of an instruction come before its slots. */
static int numbers_before_slots(const char *routine)
{
    static const char *const two[] = {"init", "agent_end"};
    static const char *const one[] = {"episode",    "trajectory",  "env_step", "agent_start",
                                      "agent_step", "standardize", "sleep"};
    for (size_t i = 0; i < sizeof two / sizeof *two; ++i)
        if (strcmp(routine, two[i]) == 0) return 2;
    for (size_t i = 0; i < sizeof one / sizeof *one; ++i)
        if (strcmp(routine, one[i]) == 0) return 1;
    return 0;
}

/* The goal of a start's `SLOTS of VARIANT TASK`, if there is one. */
static void read_goal(program *self, const char *rest)
{
    const char *goal = strstr(rest, " of ");
    char *next = (char *)"";
    self->has_goal = goal != NULL;
    self->variant = goal ? (uint32_t)strtoul(goal + 4, &next, 10) : 0;
    self->task = *next == ' ' ? next + 1 : next;
}

static void read_numbers(program *self, const char *routine, const char *rest)
{
    uint64_t *const numbers[] = {&self->first, &self->second};
    char *next = (char *)rest;
    int before = numbers_before_slots(routine);
    for (int i = 0; i < before; ++i) *numbers[i] = strtoull(next, &next, 10);
    self->count = 0;
    self->slots = must_allocate((strlen(next) + 1) * sizeof *self->slots);
    while (*next == ' ' && next[1] != 'o') self->slots[self->count++] = (uint32_t)strtoul(next, &next, 10);
}

/* Those that show rows; OTHER_INSTRUCTION if it is none. */
static int with_rows(program *self, const char *routine)
{
    const reglue_rows *rows = NULL;
    int rc = OTHER_INSTRUCTION;
    if (self->has_goal && strcmp(routine, "start") == 0)
        rc = reglue_rl_start_goal(self->rl, self->slots, self->count, self->task, self->variant, &rows);
    else if (self->has_goal && strcmp(routine, "env_start") == 0)
        rc = reglue_rl_env_start_goal(self->rl, self->slots, self->count, self->task, self->variant, &rows);
    else if (strcmp(routine, "start") == 0)
        rc = reglue_rl_start(self->rl, self->slots, self->count, &rows);
    else if (strcmp(routine, "step") == 0)
        rc = reglue_rl_step(self->rl, self->slots, self->count, &rows);
    else if (strcmp(routine, "env_start") == 0)
        rc = reglue_rl_env_start(self->rl, self->slots, self->count, &rows);
    return say_rows(self, rc, rows);
}

/* Those that show a key; OTHER_INSTRUCTION if it is none. */
static int with_key(program *self, const char *routine)
{
    const char *key = NULL;
    int rc = OTHER_INSTRUCTION;
    if (strcmp(routine, "get_state") == 0) rc = reglue_rl_get_state(self->rl, self->slots[0], &key);
    if (strcmp(routine, "get_random_seed") == 0)
        rc = reglue_rl_get_random_seed(self->rl, self->slots[0], &key);
    return say_text(self, rc, key);
}

static int episode(program *self)
{
    int32_t ended = 0;
    int rc = self->has_goal ? reglue_rl_episode_goal(self->rl, self->first, self->slots, self->count,
                                                     self->task, self->variant, &ended)
                            : reglue_rl_episode(self->rl, self->first, self->slots, self->count, &ended);
    return say_text(self, rc, ended ? "1" : "0");
}

static int success(program *self)
{
    int32_t is_one = 0;
    int rc = reglue_rl_success(self->rl, self->slots[0], &is_one);
    return say_text(self, rc, is_one ? "1" : "0");
}

static int tasks(program *self)
{
    size_t count = 0;
    const char *name;
    uint32_t variants;
    int rc = reglue_rl_num_tasks(self->rl, &count);
    for (size_t i = 0; rc == REGLUE_OK && i < count; ++i) {
        rc = reglue_rl_task(self->rl, i, &name, &variants);
        if (rc == REGLUE_OK) text_add(&self->saw, "%s%s %lu", i ? " " : "", name, (unsigned long)variants);
    }
    return rc;
}

static int with_numbers(program *self, const char *routine)
{
    int rc = with_rows(self, routine);
    if (rc == OTHER_INSTRUCTION) rc = with_key(self, routine);
    if (rc != OTHER_INSTRUCTION) return rc;
    if (strcmp(routine, "sleep") == 0) return wait_ms(self->first);
    if (strcmp(routine, "init") == 0) return begin(self);
    if (strcmp(routine, "episode") == 0) return episode(self);
    if (strcmp(routine, "trajectory") == 0) return trajectory(self);
    if (strcmp(routine, "counts") == 0) return say_counts(self);
    if (strcmp(routine, "cleanup") == 0) return reglue_rl_cleanup(self->rl);
    if (strcmp(routine, "success") == 0) return success(self);
    if (strcmp(routine, "tasks") == 0) return tasks(self);
    if (strcmp(routine, "adapt_begin") == 0) return reglue_rl_adapt_begin(self->rl);
    if (strcmp(routine, "adapt") == 0) return reglue_rl_adapt(self->rl);
    if (strcmp(routine, "iterate_goal") == 0)
        return reglue_rl_iterate_goal(self->rl, self->slots, self->count);
    if (strcmp(routine, "freeze") == 0) return reglue_rl_freeze(self->rl);
    if (strcmp(routine, "standardize") == 0) return reglue_rl_standardize_randomness(self->rl, self->first);
    return half(self, routine);
}

static int carry_out(program *self, const char *instruction)
{
    char routine[32] = "";
    size_t length = strcspn(instruction, " ");
    memcpy(routine, instruction, length < sizeof routine ? length : sizeof routine - 1);
    const char *rest = instruction[length] ? instruction + length + 1 : "";
    int rc = with_text(self, routine, rest);
    if (rc != OTHER_INSTRUCTION) return rc;
    read_goal(self, instruction + length);
    read_numbers(self, routine, instruction[length] ? instruction + length : "");
    rc = with_numbers(self, routine);
    free(self->slots);
    self->slots = NULL;
    return rc;
}

/* True if the program can continue. */
static int say_error(program *self, int rc)
{
    const char *words = reglue_experiment_errmsg(self->rl);
    if (rc == REGLUE_AGENT_FAULT)
        text_add(&self->saw, "agent fault %s", words);
    else if (rc == REGLUE_ENVIRONMENT_FAULT)
        text_add(&self->saw, "environment fault %s", words);
    else if (rc >= REGLUE_WRONG_SIZE && rc <= REGLUE_REFUSED_ROUTINE)
        text_add(&self->saw, "refused %s %s", reglue_result_name(rc), words);
    return rc == REGLUE_OK || self->saw.length > 0;
}

static int run(program *self)
{
    const char *answer;
    text instruction = {0}, did = {0};
    text_add(&self->saw, "nothing");
    int rc;
    for (;;) {
        text_clear(&did);
        text_add(&did, "did %s", self->saw.at);
        rc = reglue_rl_agent_message(self->rl, did.at, &answer);
        if (rc != REGLUE_OK || strcmp(answer, "leave") == 0) break;
        text_clear(&instruction);
        text_add(&instruction, "%s", answer);
        text_clear(&self->saw);
        rc = carry_out(self, instruction.at);
        if (rc != REGLUE_OK) text_clear(&self->saw);
        if (!say_error(self, rc)) break;
    }
    text_free(&instruction);
    text_free(&did);
    return rc;
}

int main(void)
{
    program self = {0};
    reglue_options options = {0};
    options.name = "ConformanceExperiment";
    int rc = reglue_experiment_connect(&options, &self.rl);
    if (rc == REGLUE_OK) rc = run(&self);
    if (rc != REGLUE_OK)
        fprintf(stderr, "%s: %s\n", reglue_result_name(rc), reglue_experiment_errmsg(self.rl));
    reglue_experiment_close(self.rl);
    text_free(&self.saw);
    return rc == REGLUE_OK ? 0 : 1;
}
