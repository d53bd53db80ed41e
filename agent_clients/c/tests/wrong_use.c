/* An agent that goes wrong in its first turn, as WRONG_USE says: "throws", or "size", which abandons a slot that is
 * not there, as actions have the right size. Without WRONG_USE it plays on. It waits a second for a glue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reglue.h>

static int act(reglue_session *session, const char *how)
{
    static const uint32_t no_slot = 7;
    int rc = REGLUE_AGENT_FAULT;
    if (strcmp(how, "throws") == 0) {
        reglue_fault(session, "out of ideas");
        return rc;
    }
    if (reglue_act(session, &no_slot, strcmp(how, "size") == 0) == REGLUE_OK) return REGLUE_OK;
    reglue_fault(session, reglue_errmsg(session));
    return rc;
}

int main(void)
{
    const char *how = getenv("WRONG_USE");
    reglue_options options = {0};
    options.connect_timeout_s = 1;
    reglue_session *session;
    const reglue_call *call;
    int rc = reglue_connect(&options, &session);
    while (rc == REGLUE_OK && (rc = reglue_next(session, &call)) == REGLUE_CALL)
        rc = call->kind == REGLUE_TURN ? act(session, how ? how : "") : REGLUE_OK;
    fprintf(stderr, "%s\n", reglue_errmsg(session));
    reglue_close(session);
    return reglue_exit_code(rc);
}
