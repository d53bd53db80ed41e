#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "rule.h"

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
