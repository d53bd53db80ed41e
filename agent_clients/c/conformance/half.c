#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "rule.h"

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
        return reglue_rl_agent_end(self->rl, self->slots, self->count, rewards, rows_in,
                                   self->second == 1);
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
