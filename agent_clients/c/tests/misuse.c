/* An agent that makes illegal requests in every call, and plays on; run it with a glue. Exit code 0 if all
 * were refused and the farewell arrived. */
#include <stdio.h>

#include <reglue.h>

static int wrong;

static void expect(int wanted, int got, const char *what)
{
    if (got == wanted) return;
    fprintf(stderr, "%s: got %s, wanted %s\n", what, reglue_result_name(got), reglue_result_name(wanted));
    wrong = 1;
}

static void play(reglue_session *session, const reglue_call *call)
{
    const reglue_call *next;
    if (call->kind == REGLUE_INIT) printf("%s\n", call->spec->extra);
    if (call->kind == REGLUE_TURN) {
        expect(REGLUE_MISUSE, reglue_next(session, &next), "next in an unanswered turn");
        expect(REGLUE_MISUSE, reglue_answer(session, "hello"), "a message for a turn");
        expect(REGLUE_USAGE, reglue_act(session, NULL, 1), "no slots to abandon");
        expect(REGLUE_OK, reglue_act(session, NULL, 0), "act");
    }
    if (call->kind == REGLUE_MESSAGE) {
        expect(REGLUE_USAGE, reglue_answer(session, NULL), "no text");
        expect(REGLUE_USAGE, reglue_answer(session, "\xff"), "no UTF-8");
        expect(REGLUE_USAGE, reglue_next_within(session, -1, &next), "a negative limit");
        expect(REGLUE_OK, reglue_answer(session, call->text), "answer");
    }
    expect(REGLUE_MISUSE, reglue_act(session, NULL, 0), "act after the answer");
}

static void say(const char *line, void *where)
{
    fprintf(where, "logged: %s\n", line);
}

int main(void)
{
    reglue_set_log(say, stdout);
    reglue_session *session;
    const reglue_call *call;
    int rc = reglue_connect(NULL, &session);
    if (rc == REGLUE_OK)
        while ((rc = reglue_next(session, &call)) == REGLUE_CALL) play(session, call);
    expect(REGLUE_DONE, rc, "the session");
    printf("%s\n", reglue_errmsg(session));
    expect(REGLUE_MISUSE, reglue_next(session, &call), "next after the farewell");
    expect(REGLUE_MISUSE, reglue_fault(session, "too late"), "fault after the farewell");
    reglue_close(session);
    return wrong;
}
