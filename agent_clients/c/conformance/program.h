/* The benchmark program's state, and the functions that its parts share. */
#ifndef REGLUE_CONFORMANCE_PROGRAM_H
#define REGLUE_CONFORMANCE_PROGRAM_H

#include "text.h"

typedef struct program {
    reglue_experiment *rl;
    const reglue_spec *spec; /* of the last init; NULL before */
    text saw;
    uint32_t *slots; /* numbers of the instruction */
    size_t count;
    uint64_t first, second; /* numbers before the slots */
    int has_goal;
    const char *task; /* of the goal, in the instruction; "": the slot's own */
    uint32_t variant;
} program;

/* Words: a memory of the bytes of each part of an answer. */
void say_memory(program *self, uint32_t memory);
void say_bytes(program *self, const void *bytes, uint64_t count);
void say_observations(program *self, const void *const *arrays, uint64_t rows);
void say_actions(program *self, const void *const *arrays, uint64_t rows);

/* Says what the answer has, in the order of the instruction's words; nothing for an error. Returns `rc`,
 * like all functions below. */
int say_rows(program *self, int rc, const reglue_rows *rows);
int say_text(program *self, int rc, const char *words);

/* RL_episode of 1.0: `first` steps in the only slot, by RL_start and RL_steps. */
int trajectory(program *self);

/* A half step, with rows that the rule makes. */
int half(program *self, const char *routine);

#endif
