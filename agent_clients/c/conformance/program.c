#include "program.h"

#include <stdlib.h>
#include <string.h>

#include "rule.h"

void say_memory(program *self, uint32_t memory)
{
    text_add(&self->saw, self->saw.length ? " %08x" : "%08x", (unsigned)memory);
}

void say_bytes(program *self, const void *bytes, uint64_t count)
{
    say_memory(self, rule_take(RULE_START, bytes, count));
}

static void say_slots(program *self, const reglue_rows *rows)
{
    uint32_t memory = RULE_START;
    for (uint32_t i = 0; i < rows->count; ++i) memory = rule_take_number(memory, rows->slots[i], 4);
    say_memory(self, memory);
}

static void say_arrays(program *self, const reglue_tensor *tensors, uint32_t count, const void *const *arrays,
                       uint64_t rows)
{
    uint32_t memory = RULE_START;
    for (uint32_t i = 0; i < count; ++i) memory = rule_take(memory, arrays[i], rows * tensors[i].row_bytes);
    say_memory(self, memory);
}

void say_observations(program *self, const void *const *arrays, uint64_t rows)
{
    say_arrays(self, self->spec->observations, self->spec->observation_count, arrays, rows);
}

void say_actions(program *self, const void *const *arrays, uint64_t rows)
{
    say_arrays(self, self->spec->actions, self->spec->action_count, arrays, rows);
}

int say_rows(program *self, int rc, const reglue_rows *rows)
{
    if (rc != REGLUE_OK) return rc;
    say_slots(self, rows);
    if (rows->rewards) say_bytes(self, rows->rewards, rows->count * sizeof(double));
    say_observations(self, rows->observations, rows->count);
    if (rows->flags) say_bytes(self, rows->flags, rows->count);
    if (rows->actions) say_actions(self, rows->actions, rows->count);
    return rc;
}

int say_text(program *self, int rc, const char *words)
{
    if (rc == REGLUE_OK) text_add(&self->saw, "%s", words);
    return rc;
}

/* Arrays that grow row by row. */
typedef struct record {
    const reglue_tensor *tensors;
    void **arrays;
    uint32_t count;
    uint64_t rows;
} record;

static record record_of(const reglue_tensor *tensors, uint32_t count)
{
    record made = {tensors, must_allocate(count * sizeof(void *)), count, 0};
    for (uint32_t i = 0; i < count; ++i) made.arrays[i] = must_allocate(0);
    return made;
}

static void record_row(record *to, const void *const *arrays)
{
    for (uint32_t i = 0; i < to->count; ++i) {
        uint64_t bytes = to->tensors[i].row_bytes;
        char *grown = must_allocate((to->rows + 1) * bytes);
        memcpy(grown, to->arrays[i], to->rows * bytes);
        if (bytes) memcpy(grown + to->rows * bytes, arrays[i], bytes);
        free(to->arrays[i]);
        to->arrays[i] = grown;
    }
    ++to->rows;
}

static void record_free(record *of)
{
    for (uint32_t i = 0; i < of->count; ++i) free(of->arrays[i]);
    free(of->arrays);
}

/* RL_episode of 1.0, into `seen`, `done` and the memory of rewards; `*flags` says how it ended. */
static int play(program *self, uint32_t slot, record *seen, record *done, uint32_t *rewards, uint8_t *flags)
{
    const reglue_rows *rows;
    int rc = reglue_rl_start(self->rl, &slot, 1, &rows);
    *flags = 0;
    for (uint64_t step = 0; rc == REGLUE_OK; ++step) {
        if (!*flags) {
            record_row(seen, rows->observations);
            record_row(done, rows->actions);
        }
        if (*flags || step == self->first) break;
        if ((rc = reglue_rl_step(self->rl, &slot, 1, &rows)) == REGLUE_OK) {
            *rewards = rule_take_real(*rewards, rows->rewards[0]);
            *flags = rows->flags[0] & (REGLUE_FLAG_TERMINATED | REGLUE_FLAG_TRUNCATED);
        }
    }
    return rc;
}

int trajectory(program *self)
{
    static const reglue_spec nothing; /* before RL_init the start is refused */
    const reglue_spec *spec = self->spec ? self->spec : &nothing;
    record seen = record_of(spec->observations, spec->observation_count);
    record done = record_of(spec->actions, spec->action_count);
    uint32_t rewards = RULE_START;
    uint8_t flags;
    int rc = play(self, self->slots[0], &seen, &done, &rewards, &flags);
    if (rc == REGLUE_OK) {
        say_observations(self, (const void *const *)seen.arrays, seen.rows);
        say_actions(self, (const void *const *)done.arrays, done.rows);
        say_memory(self, rewards);
        say_bytes(self, &flags, 1);
    }
    record_free(&seen);
    record_free(&done);
    return rc;
}

/* The rows that the rule makes of `count` tensors for each slot, and the rewards after them. */
static void **made_rows(const program *self, const reglue_tensor *tensors, uint32_t count, double *rewards)
{
    static const reglue_tensor reward = {.dtype = REGLUE_FLOAT64, .domain = REGLUE_BOX, .size = 1};
    void **arrays = must_allocate(count * sizeof(void *));
    for (uint32_t i = 0; i < count; ++i) arrays[i] = must_allocate(self->count * tensors[i].row_bytes);
    for (size_t row = 0; row < self->count; ++row) {
        uint32_t memory = (uint32_t)self->first + self->slots[row];
        uint64_t made = rule_row(memory, tensors, count, arrays, row);
        rule_elements(memory, &reward, made, &rewards[row]);
    }
    return arrays;
}

static int half_step(program *self, const char *routine, void **arrays, const double *rewards)
{
    const void *const *rows_in = (const void *const *)arrays;
    const reglue_rows *rows = NULL;
    int rc;
    if (strcmp(routine, "env_step") == 0) {
        rc = reglue_rl_env_step(self->rl, self->slots, self->count, rows_in, &rows);
        return say_rows(self, rc, rows);
    }
    if (strcmp(routine, "agent_end") == 0)
        return reglue_rl_agent_end(self->rl, self->slots, self->count, rewards, rows_in, self->second == 1);
    if (strcmp(routine, "agent_start") == 0)
        rc = reglue_rl_agent_start(self->rl, self->slots, self->count, rows_in, &rows);
    else
        rc = reglue_rl_agent_step(self->rl, self->slots, self->count, rewards, rows_in, &rows);
    if (rc == REGLUE_OK) say_actions(self, rows->actions, rows->count);
    return rc;
}

int half(program *self, const char *routine)
{
    static const reglue_spec nothing;
    const reglue_spec *spec = self->spec ? self->spec : &nothing;
    int acts = strcmp(routine, "env_step") == 0;
    const reglue_tensor *tensors = acts ? spec->actions : spec->observations;
    uint32_t count = acts ? spec->action_count : spec->observation_count;
    double *rewards = must_allocate(self->count * sizeof *rewards);
    void **arrays = made_rows(self, tensors, count, rewards);
    int rc = half_step(self, routine, arrays, rewards);
    for (uint32_t i = 0; i < count; ++i) free(arrays[i]);
    free(arrays);
    free(rewards);
    return rc;
}
