/* The agent for `reglue conformance agent`: it makes every action from everything that its slot received.
 * proto/CONFORMANCE.md describes it. */
#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rule.h"
#include "text.h"

enum mark { END = 1, STEP, START, FREEZE, ADAPT_BEGIN, ADAPT };

typedef struct agent {
    reglue_session *session;
    uint32_t *memory; /* of each slot */
    uint32_t slots;
    unsigned long calls[REGLUE_CLEANUP + 1]; /* by kind */
    unsigned long starts, steps, ends;
    int must_fail;       /* in the next turn */
    int must_abandon;    /* `abandon`, in the next turn */
    uint32_t abandon;
} agent;

static int fail(agent *self)
{
    reglue_fault(self->session, "told to fail");
    fputs("told to fail\n", stderr);
    return REGLUE_AGENT_FAULT;
}

static void take_all(agent *self, enum mark mark)
{
    for (uint32_t slot = 0; slot < self->slots; ++slot)
        self->memory[slot] = rule_take_number(self->memory[slot], (uint64_t)mark, 1);
}

static void init(agent *self, const reglue_spec *spec)
{
    free(self->memory);
    self->slots = spec->slots;
    self->memory = must_allocate(sizeof *self->memory * spec->slots);
    for (uint32_t slot = 0; slot < spec->slots; ++slot) self->memory[slot] = RULE_START;
}

static uint32_t take_observations(uint32_t memory, const reglue_call *call, uint64_t row)
{
    for (uint32_t i = 0; i < call->spec->observation_count; ++i) {
        uint64_t bytes = call->spec->observations[i].row_bytes;
        const char *array = call->observations[i];
        if (bytes) memory = rule_take(memory, array + row * bytes, bytes);
    }
    return memory;
}

static uint32_t take_reward(uint32_t memory, const reglue_call *call, uint64_t row)
{
    if (call->phase == REGLUE_EVALUATE && !call->spec->rewards_in_evaluation) return memory;
    return rule_take_real(memory, call->rewards[row]);
}

static uint32_t take_mark(uint32_t memory, enum mark mark, const reglue_call *call)
{
    memory = rule_take_number(memory, (uint64_t)mark, 1);
    return rule_take_number(memory, (uint64_t)call->phase, 1);
}

static void take_end(agent *self, const reglue_call *call, uint32_t i)
{
    uint32_t *memory = &self->memory[call->end_slots[i]];
    *memory = rule_take_number(take_mark(*memory, END, call), call->end_kinds[i], 1);
    *memory = take_observations(take_reward(*memory, call, i), call, i);
}

static void take_step(agent *self, const reglue_call *call, uint32_t i)
{
    uint64_t row = (uint64_t)call->ends + i;
    uint32_t *memory = &self->memory[call->step_slots[i]];
    *memory = rule_take_number(take_mark(*memory, STEP, call), call->step_flags[i] & 3, 1);
    *memory = take_observations(take_reward(*memory, call, row), call, row);
    rule_row(*memory, call->spec->actions, call->spec->action_count, call->actions, i);
}

static void take_start(agent *self, const reglue_call *call, uint32_t i)
{
    uint64_t row = (uint64_t)call->ends + call->steps + i;
    uint32_t *memory = &self->memory[call->start_slots[i]];
    *memory = rule_take_number(take_mark(*memory, START, call), call->start_seeds[i], 8);
    *memory = take_observations(*memory, call, row);
    rule_row(*memory, call->spec->actions, call->spec->action_count, call->actions,
             (uint64_t)call->steps + i);
}

static int turn(agent *self, const reglue_call *call)
{
    if (self->must_fail) return fail(self);
    for (uint32_t i = 0; i < call->ends; ++i) take_end(self, call, i);
    for (uint32_t i = 0; i < call->steps; ++i) take_step(self, call, i);
    for (uint32_t i = 0; i < call->starts; ++i) take_start(self, call, i);
    self->ends += call->ends;
    self->steps += call->steps;
    self->starts += call->starts;
    size_t abandon_count = self->must_abandon ? 1 : 0;
    self->must_abandon = 0;
    return reglue_act(self->session, &self->abandon, abandon_count);
}

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void say_counts(const agent *self, text *answer)
{
    text_add(answer, "{\"init\": %lu, \"freeze\": %lu, \"adapt_begin\": %lu, \"adapt\": %lu, ",
             self->calls[REGLUE_INIT], self->calls[REGLUE_FREEZE], self->calls[REGLUE_ADAPT_BEGIN],
             self->calls[REGLUE_ADAPT]);
    text_add(answer, "\"message\": %lu, \"cleanup\": %lu, \"start\": %lu, \"step\": %lu, \"end\": %lu}",
             self->calls[REGLUE_MESSAGE], self->calls[REGLUE_CLEANUP], self->starts, self->steps, self->ends);
}

static void say_budget(const reglue_budget *budget, text *answer)
{
    const uint64_t left[] = {budget->step_us, budget->bank_us, budget->adapt_us, budget->run_us};
    for (int i = 0; i < 4; ++i)
        if (budget->limited & 1u << i) /* enum reglue_limit is in the order of the fields */
            text_add(answer, i ? " %llu" : "%llu", (unsigned long long)left[i]);
        else
            text_add(answer, i ? " -" : "-");
}

static int message(agent *self, const reglue_call *call)
{
    const char *request = call->text;
    if (strcmp(request, "fail") == 0) return fail(self);
    text answer = {0};
    text_clear(&answer);
    if (strcmp(request, "counts") == 0) say_counts(self, &answer);
    if (strcmp(request, "budget") == 0) say_budget(&call->budget, &answer);
    if (strcmp(request, "spec") == 0) text_add_spec(&answer, call->spec);
    if (strncmp(request, "echo ", 5) == 0) text_add(&answer, "%s", request + 5);
    if (strncmp(request, "sleep ", 6) == 0) sleep_ms(atol(request + 6));
    if (strcmp(request, "fail turn") == 0) self->must_fail = 1;
    if (strncmp(request, "abandon ", 8) == 0) {
        self->must_abandon = 1;
        self->abandon = (uint32_t)strtoul(request + 8, NULL, 10);
    }
    int rc = reglue_answer(self->session, answer.at);
    text_free(&answer);
    return rc;
}

static int carry_out(agent *self, const reglue_call *call)
{
    ++self->calls[call->kind];
    switch (call->kind) {
    case REGLUE_INIT: init(self, call->spec); break;
    case REGLUE_TURN: return turn(self, call);
    case REGLUE_FREEZE: take_all(self, FREEZE); break;
    case REGLUE_ADAPT_BEGIN: take_all(self, ADAPT_BEGIN); break;
    case REGLUE_ADAPT: take_all(self, ADAPT); break;
    case REGLUE_MESSAGE: return message(self, call);
    default: break;
    }
    return REGLUE_OK;
}

int main(void)
{
    agent self = {0};
    reglue_options options = {0};
    options.name = "ConformanceAgent";
    options.abilities = REGLUE_PARTIAL_TURNS | REGLUE_ADAPTS;
    const reglue_call *call;
    int rc = reglue_connect(&options, &self.session);
    if (rc == REGLUE_OK)
        while ((rc = reglue_next(self.session, &call)) == REGLUE_CALL)
            if ((rc = carry_out(&self, call)) != REGLUE_OK) break;
    fprintf(stderr, "%s: %s\n", reglue_result_name(rc), reglue_errmsg(self.session));
    reglue_close(self.session);
    free(self.memory);
    return rc == REGLUE_DONE ? reglue_exit_code(rc) : 1;
}
