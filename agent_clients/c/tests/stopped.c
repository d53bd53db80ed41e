/* An agent that plays until SIGTERM comes, and leaves then; run it with a glue. */
#include <signal.h>
#include <stdio.h>

#include <reglue.h>

static reglue_session *session;

static void stop(int signal)
{
    (void)signal;
    reglue_stop(session);
}

int main(void)
{
    const reglue_call *call;
    int rc = reglue_connect(NULL, &session);
    signal(SIGTERM, stop);
    while (rc == REGLUE_OK && (rc = reglue_next(session, &call)) == REGLUE_CALL)
        rc = call->kind == REGLUE_TURN ? reglue_act(session, NULL, 0) : REGLUE_OK;
    signal(SIGTERM, SIG_DFL); /* it uses the session no more */
    fprintf(stderr, "%s\n", reglue_errmsg(session));
    reglue_close(session);
    return reglue_exit_code(rc);
}
