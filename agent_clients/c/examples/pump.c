/* A whole agent: pushes the mountain car the way it already rolls, which gets it out of the valley.
 *
 *     reglue bench online:mountain-car --agent-cmd ./pump --runs 1 --episodes 10
 */
#include <stdio.h>

#include <reglue.h>

/* The only observation is (position, velocity), float64; the only action 0 (back), 1 or 2 (on), int64. */
static void act(const reglue_call *call)
{
    const double *seen = call->observations[0];
    int64_t *action = call->actions[0];
    for (uint32_t row = 0; row < call->steps + call->starts; ++row) {
        double velocity = seen[2 * (call->ends + row) + 1]; /* rows of ends come first */
        action[row] = velocity < 0 ? 0 : 2;
    }
}

static int fits(const reglue_spec *spec)
{
    const reglue_tensor *seen = spec->observations, *action = spec->actions;
    return spec->observation_count == 1 && seen->dtype == REGLUE_FLOAT64 && seen->size == 2 &&
           spec->action_count == 1 && action->dtype == REGLUE_INT64 && action->size == 1;
}

int main(void)
{
    reglue_options options = {0};
    options.name = "pump";
    reglue_session *session;
    const reglue_call *call;
    int rc = reglue_connect(&options, &session);
    while (rc == REGLUE_OK && (rc = reglue_next(session, &call)) == REGLUE_CALL) {
        rc = REGLUE_OK;
        if (call->kind == REGLUE_INIT && !fits(call->spec)) {
            reglue_fault(session, "pump drives mountain cars alone");
            rc = REGLUE_AGENT_FAULT;
        }
        if (call->kind == REGLUE_TURN) {
            act(call);
            rc = reglue_act(session, NULL, 0);
        }
    }
    fprintf(stderr, "pump: %s\n", reglue_errmsg(session));
    reglue_close(session);
    return reglue_exit_code(rc);
}
