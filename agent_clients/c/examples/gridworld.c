/* A whole environment: the windy gridworld of Sutton & Barto 2018, "Reinforcement Learning: An Introduction",
 * 2nd edition, example 6.5, page 130. Find the way to the goal while the wind blows upwards.
 *
 *     . . . . . . . . . .
 *     . . . . . . . . . .
 *     . . . . . . . . . .
 *     S . . . . . . G . .
 *     . . . . . . . . . .
 *     . . . . . . . . . .
 *     . . . . . . . . . .
 *     0 0 0 1 1 1 2 2 1 0    wind, in cells
 *
 * Each step costs 1. The observation is the number of the cell, row by row from the top left; actions are up,
 * down, right, left. It joins a glue:
 *
 *     REGLUE_ADDRESS=127.0.0.1:4096 REGLUE_TOKEN=SECRET ./gridworld
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include <reglue.h>

enum { ROWS = 7, COLUMNS = 10, MOVES = 4, START = 3 * COLUMNS, GOAL = 3 * COLUMNS + 7 };

static const int wind[COLUMNS] = {0, 0, 0, 1, 1, 1, 2, 2, 1, 0};
static const int down[MOVES] = {-1, 1, 0, 0}, right[MOVES] = {0, 0, 1, -1}; /* cells of each move */

static int within(int place, int places)
{
    return place < 0 ? 0 : place < places ? place : places - 1;
}

/* The cell after a move, with the wind of the column that it starts in. */
static int64_t moved(int64_t cell, int64_t move)
{
    int row = (int)cell / COLUMNS, column = (int)cell % COLUMNS;
    return within(row + down[move] - wind[column], ROWS) * COLUMNS + within(column + right[move], COLUMNS);
}

static int ready(reglue_environment *env)
{
    static const uint64_t cells = (uint64_t)ROWS * COLUMNS, moves = MOVES;
    static const reglue_task task = {"gridworld", 1, 0};
    const reglue_tensor cell = {
        .name = "observation", .dtype = REGLUE_INT64, .domain = REGLUE_DISCRETE, .n = &cells, .ns = 1};
    const reglue_tensor move = {
        .name = "action", .dtype = REGLUE_INT64, .domain = REGLUE_DISCRETE, .n = &moves, .ns = 1};
    reglue_spec spec = REGLUE_SPEC_DEFAULTS;
    spec.observations = &cell;
    spec.actions = &move;
    spec.observation_count = spec.action_count = 1;
    spec.reward_low = spec.reward_high = -1;
    return reglue_environment_ready(env, &spec, &task, 1, 0);
}

static int play(reglue_environment *env, const reglue_environment_call *call, int64_t *cells)
{
    assert(cells != NULL); /* an init comes first */
    const int64_t *move = call->steps ? call->actions[0] : NULL;
    int64_t *seen = call->observations[0];
    int rc = REGLUE_OK;
    for (uint32_t row = 0; row < call->steps && rc == REGLUE_OK; ++row) {
        int64_t *cell = &cells[call->step_slots[row]];
        if (move[row] < 0 || move[row] >= MOVES) { /* the other slots play on */
            rc = reglue_environment_fault_slot(env, call->step_slots[row], "got another move, wanted 0 to 3");
            continue;
        }
        *cell = seen[row] = moved(*cell, move[row]);
        call->rewards[row] = -1;
        if (*cell == GOAL) call->flags[row] = REGLUE_FLAG_TERMINATED | REGLUE_FLAG_SUCCESS;
    }
    for (uint32_t i = 0; i < call->starts; ++i) cells[call->start_slots[i]] = seen[call->steps + i] = START;
    return rc == REGLUE_OK ? reglue_environment_played(env) : rc;
}

int main(void)
{
    reglue_options options = {0}; /* address and token: REGLUE_ADDRESS, REGLUE_TOKEN */
    options.name = "gridworld";
    reglue_environment *env;
    const reglue_environment_call *call;
    int64_t *cells = NULL; /* where each slot is */
    int rc = reglue_environment_connect(&options, &env);
    while (rc == REGLUE_OK && (rc = reglue_environment_next(env, &call)) == REGLUE_CALL) {
        rc = REGLUE_OK;
        if (call->kind == REGLUE_ENV_INIT) {
            free(cells);
            cells = calloc(call->slots, sizeof *cells);
            if (cells == NULL) {
                reglue_environment_fault(env, "memory ran out");
                rc = REGLUE_NO_MEMORY;
            } else {
                rc = ready(env);
            }
        }
        if (call->kind == REGLUE_ENV_PLAY) rc = play(env, call, cells);
    }
    fprintf(stderr, "gridworld: %s\n", reglue_environment_errmsg(env)); /* the farewell, or what went wrong */
    reglue_environment_close(env);
    free(cells);
    return reglue_exit_code(rc);
}
