/* The rule of the conformance programs: bytes go in, elements of tensors come out.
 * proto/CONFORMANCE.md has it in prose. */
#ifndef REGLUE_CONFORMANCE_RULE_H
#define REGLUE_CONFORMANCE_RULE_H

#include "reglue.h"

/* A memory that has taken in nothing. */
#define RULE_START 2166136261u

/* `memory` when it has taken in `count` bytes. */
uint32_t rule_take(uint32_t memory, const void *bytes, uint64_t count);

/* Likewise the bytes of a number, `size` of them, least first. */
uint32_t rule_take_number(uint32_t memory, uint64_t number, int size);
uint32_t rule_take_real(uint32_t memory, double number);

/* Draw number `number` of `memory`. */
uint32_t rule_draw(uint32_t memory, uint32_t number);

/* Element number `element` that `memory` makes of a float64 box without bounds, and of a bool box. */
double rule_real(uint32_t memory, uint64_t element);
int rule_flag(uint32_t memory, uint64_t element);

/* Writes the elements that `memory` makes of a tensor to `row`. `first` is how many the tensors
 * before it have; returns how many there are with this one. */
uint64_t rule_elements(uint32_t memory, const reglue_tensor *tensor, uint64_t first, void *row);

/* Writes row number `row` of each of `count` tensors; returns how many elements that were. */
uint64_t rule_row(uint32_t memory, const reglue_tensor *tensors, uint32_t count, void *const *arrays,
                  uint64_t row);

#endif
