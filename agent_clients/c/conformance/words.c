#include "program.h"
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

static void say_arrays(program *self, const reglue_tensor *tensors, uint32_t count,
                       const void *const *arrays, uint64_t rows)
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
