/* The header as strict C99, and the layout that other languages copy: agent_clients/julia/src/library.jl. */
#include <reglue.h>

#define LIES_AT(type, field, at) typedef char type##_##field[offsetof(type, field) == (at) ? 1 : -1]
#define HAS_BYTES(type, bytes) typedef char type##_bytes[sizeof(type) == (bytes) ? 1 : -1]

#if UINTPTR_MAX == UINT64_MAX
HAS_BYTES(reglue_tensor, 104);
LIES_AT(reglue_tensor, axes, 16);
LIES_AT(reglue_tensor, size, 32);
LIES_AT(reglue_tensor, low, 48);
LIES_AT(reglue_tensor, start, 96);
HAS_BYTES(reglue_spec, 72);
LIES_AT(reglue_spec, reward_low, 24);
LIES_AT(reglue_spec, continuing, 56);
LIES_AT(reglue_spec, extra, 64);
HAS_BYTES(reglue_options, 64);
LIES_AT(reglue_options, connect_timeout_s, 40);
LIES_AT(reglue_options, max_slots, 56);
HAS_BYTES(reglue_call, 152);
LIES_AT(reglue_call, end_slots, 24);
LIES_AT(reglue_call, rewards, 72);
LIES_AT(reglue_call, text, 104);
LIES_AT(reglue_call, budget, 112);
HAS_BYTES(reglue_budget, 40);
HAS_BYTES(reglue_rows, 48);
HAS_BYTES(reglue_cell, 40);
LIES_AT(reglue_cell, seed, 16);
HAS_BYTES(reglue_environment_call, 120);
LIES_AT(reglue_environment_call, step_slots, 24);
LIES_AT(reglue_environment_call, rewards, 56);
LIES_AT(reglue_environment_call, text, 88);
LIES_AT(reglue_environment_call, seed, 112);
HAS_BYTES(reglue_task, 16);
#endif
HAS_BYTES(reglue_rng, 24);
