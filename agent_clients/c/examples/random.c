/* Acts at random: the floor that every agent should beat. Each episode draws from its start seed alone, so
 * that its actions are the same in whatever slot or process it is played.
 *
 *     reglue bench MT1:reach-v3 --agent-cmd PROGRAM
 *
 * Where an observation `action_mask` shows which actions are legal, it draws one of those.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reglue_episodes.h>

static reglue_rng *rngs; /* one a slot: all that an episode remembers */

static double bound(const double *bounds, uint64_t count, uint64_t element, double none)
{
    return count == 0 ? none : bounds[count == 1 ? 0 : element];
}

/* A byte for each choice of the only action, 0 of an illegal one; NULL if the row shows no mask. */
static const char *mask(const reglue_call *call, const reglue_row *row)
{
    const reglue_tensor *action = &call->spec->actions[0];
    uint64_t choices = 0;
    if (call->spec->action_count != 1 || action->ns != action->size) return NULL;
    for (uint64_t i = 0; i < action->ns; ++i) choices += action->n[i];
    for (uint32_t i = 0; i < call->spec->observation_count; ++i) {
        const reglue_tensor *seen = &call->spec->observations[i];
        int has_bytes = seen->axes == 1 && seen->size == choices && seen->row_bytes == choices;
        if (has_bytes && strcmp(seen->name, "action_mask") == 0)
            return (const char *)reglue_row_seen(call, row, i);
    }
    return NULL;
}

/* A number below n; with a mask, a place of one of its n bytes that are not 0. */
static uint64_t below(reglue_rng *rng, uint64_t n, const char *legal)
{
    uint64_t count = 0, place = 0;
    for (uint64_t i = 0; legal != NULL && i < n; ++i) count += legal[i] != 0;
    if (count == 0) return reglue_rng_below(rng, n);
    for (count = reglue_rng_below(rng, count); legal[place] == 0 || count-- > 0; ++place) {}
    return place;
}

static double random_number(const reglue_tensor *tensor, uint64_t element, reglue_rng *rng, const char *legal)
{
    double low, high;
    switch (tensor->domain) {
    case REGLUE_DISCRETE: return (double)tensor->start + (double)below(rng, tensor->n[0], legal);
    case REGLUE_MULTI_DISCRETE: return (double)below(rng, tensor->n[element], legal);
    case REGLUE_MULTI_BINARY: return (double)reglue_rng_below(rng, 2);
    default:
        low = bound(tensor->low, tensor->lows, element, -1);
        high = bound(tensor->high, tensor->highs, element, 1);
        return reglue_rng_uniform(rng, low > -1 ? low : -1, high < 1 ? high : 1);
    }
}

static void put(void *action, int32_t dtype, uint64_t element, double number)
{
    switch (dtype) {
    case REGLUE_FLOAT64: ((double *)action)[element] = number; break;
    case REGLUE_FLOAT32: ((float *)action)[element] = (float)number; break;
    case REGLUE_INT64: ((int64_t *)action)[element] = (int64_t)number; break;
    case REGLUE_UINT64: ((uint64_t *)action)[element] = (uint64_t)number; break;
    case REGLUE_INT32: ((int32_t *)action)[element] = (int32_t)number; break;
    case REGLUE_UINT32: ((uint32_t *)action)[element] = (uint32_t)number; break;
    case REGLUE_INT16: ((int16_t *)action)[element] = (int16_t)number; break;
    case REGLUE_UINT16: ((uint16_t *)action)[element] = (uint16_t)number; break;
    case REGLUE_INT8: ((int8_t *)action)[element] = (int8_t)number; break;
    default: ((uint8_t *)action)[element] = (uint8_t)number; break; /* of bool, too */
    }
}

static void act(const reglue_call *call, const reglue_row *row, reglue_rng *rng)
{
    for (uint32_t i = 0; i < call->spec->action_count; ++i) {
        const reglue_tensor *tensor = &call->spec->actions[i];
        void *action = reglue_row_action(call, row, i);
        const char *legal = mask(call, row);
        for (uint64_t element = 0; element < tensor->size; ++element) {
            put(action, tensor->dtype, element, random_number(tensor, element, rng, legal));
            if (legal != NULL) legal += tensor->n[element];
        }
    }
}

static void turn(const reglue_call *call)
{
    reglue_row row = {0};
    while (reglue_next_row(call, &row)) {
        reglue_rng *rng = &rngs[row.slot];
        if (row.kind == REGLUE_ROW_START) *rng = (reglue_rng){.seed = row.seed};
        if (row.kind != REGLUE_ROW_END) act(call, &row, rng);
    }
}

int main(void)
{
    reglue_options options = {0};
    options.name = "random";
    options.abilities = REGLUE_ADAPTS; /* it learns nothing, but meta-learning benchmarks may judge it */
    reglue_session *session;
    const reglue_call *call;
    int rc = reglue_connect(&options, &session);
    while (rc == REGLUE_OK && (rc = reglue_next(session, &call)) == REGLUE_CALL) {
        rc = REGLUE_OK;
        if (call->kind == REGLUE_INIT) {
            free(rngs);
            rngs = calloc(call->spec->slots, sizeof *rngs);
            if (rngs == NULL) {
                reglue_fault(session, "memory ran out");
                rc = REGLUE_NO_MEMORY;
            }
        }
        if (call->kind == REGLUE_TURN) {
            turn(call);
            rc = reglue_act(session, NULL, 0);
        }
    }
    fprintf(stderr, "random: %s\n", reglue_errmsg(session));
    reglue_close(session);
    free(rngs);
    return reglue_exit_code(rc);
}
