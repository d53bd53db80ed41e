/** @defgroup episodes One episode after another
 *
 * A turn of Reglue's C library, one episode after another: what an agent needs that is written for one
 * episode.
 *
 *     static struct mine *episodes;  // spec->slots of them, from REGLUE_INIT on: what each remembers
 *
 *     reglue_row row = {0};
 *     while (reglue_next_row(call, &row)) {
 *         struct mine *episode = &episodes[row.slot];
 *         const double *seen = reglue_row_seen(call, &row, 0);
 *         int64_t *action = reglue_row_action(call, &row, 0);
 *         switch (row.kind) {
 *         case REGLUE_ROW_START: begin(episode, row.seed); *action = choose(episode, seen); break;
 *         case REGLUE_ROW_STEP: learn(episode, row.reward); *action = choose(episode, seen); break;
 *         case REGLUE_ROW_END: learn_last(episode, row.reward, row.end_kind, seen); break;
 *         }
 *     }
 *     reglue_act(session, NULL, 0);
 *
 * Include `<reglue_episodes.h>`.
 */
#ifndef REGLUE_EPISODES_H
#define REGLUE_EPISODES_H

#include <reglue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup episodes
 * @{ */

/** What to do with a row. */
enum reglue_row_kind {
    REGLUE_ROW_END = 1,  /**< take the last reward and observation: the slot's episode is over */
    REGLUE_ROW_STEP = 2, /**< take the reward, and choose the next action */
    REGLUE_ROW_START = 3 /**< choose the first action: what the slot's last episode left is over */
};

/** One episode's part in a turn. Zeros before the first. */
typedef struct reglue_row {
    int32_t kind;     /**< enum reglue_row_kind */
    uint32_t slot;
    double reward;    /**< of the action before, of a step and an end; NaN where it is withheld */
    uint64_t seed;    /**< of a start: of the agent's own random numbers in this episode */
    int32_t end_kind; /**< of an end: enum reglue_end_kind */
    uint32_t seen;    /**< its row of observations */
    uint32_t next;    /**< how many rows there have been */
} reglue_row;

/** Goes on to the next row of a turn: ends, then steps, then starts. 0: no row is left. */
static inline int reglue_next_row(const reglue_call *call, reglue_row *row)
{
    uint32_t i = row->next;
    if (i == call->ends + call->steps + call->starts) return 0;
    row->seen = i;
    row->next = i + 1;
    row->reward = i < call->ends + call->steps ? call->rewards[i] : 0;
    row->seed = 0;
    row->end_kind = 0;
    if (i < call->ends) {
        row->kind = REGLUE_ROW_END;
        row->slot = call->end_slots[i];
        row->end_kind = call->end_kinds[i];
        return 1;
    }
    i -= call->ends;
    if (i < call->steps) {
        row->kind = REGLUE_ROW_STEP;
        row->slot = call->step_slots[i];
        return 1;
    }
    i -= call->steps;
    row->kind = REGLUE_ROW_START;
    row->slot = call->start_slots[i];
    row->seed = call->start_seeds[i];
    return 1;
}

/** Elements of one observation: `size` of the spec's tensor of that number. */
static inline const void *reglue_row_seen(const reglue_call *call, const reglue_row *row,
                                          uint32_t tensor)
{
    const char *rows = (const char *)call->observations[tensor];
    return rows + row->seen * call->spec->observations[tensor].row_bytes;
}

/** Elements of one action to write, zeros until then; NULL of an end. */
static inline void *reglue_row_action(const reglue_call *call, const reglue_row *row,
                                      uint32_t tensor)
{
    char *rows = (char *)call->actions[tensor];
    if (row->kind == REGLUE_ROW_END) return NULL;
    return rows + (row->seen - call->ends) * call->spec->actions[tensor].row_bytes;
}

/** @} */

#ifdef __cplusplus
}
#endif

#endif
