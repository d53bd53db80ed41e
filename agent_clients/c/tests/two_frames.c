/* Balances a pole by how its angle has changed since the last observation. With an argument it keeps a copy of that;
 * without, the pointer, which is stale by then. */
#include <stdio.h>

#include <reglue.h>

static float copy;
static const float *before;

static void act(const reglue_call *call, int copies)
{
    const float *seen = call->observations[0];
    const float *angle = seen + 4 * call->ends + 2; /* rows of ends come first */
    if (call->steps + call->starts == 0) return;
    if (call->steps) *(int64_t *)call->actions[0] = *angle + 12 * (*angle - *before) > 0;
    copy = *angle;
    before = copies ? &copy : angle;
}

int main(int argc, char **argv)
{
    reglue_session *session;
    const reglue_call *call;
    int rc = reglue_connect(NULL, &session);
    (void)argv;
    while (rc == REGLUE_OK && (rc = reglue_next(session, &call)) == REGLUE_CALL) {
        rc = REGLUE_OK;
        if (call->kind == REGLUE_TURN) {
            act(call, argc > 1);
            rc = reglue_act(session, NULL, 0);
        }
    }
    fprintf(stderr, "%s\n", reglue_errmsg(session));
    reglue_close(session);
    return reglue_exit_code(rc);
}
