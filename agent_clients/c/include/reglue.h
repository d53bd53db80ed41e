/* Reglue in C: agents and benchmark programs of RL-Glue over a network.
 *
 * Nothing calls back. An agent asks for the next call of the glue's, looks at it, and answers:
 *
 *     reglue_options options = {0};
 *     reglue_session *session;
 *     const reglue_call *call;
 *     int rc = reglue_connect(&options, &session);
 *     if (rc == REGLUE_OK)
 *         while ((rc = reglue_next(session, &call)) == REGLUE_CALL)
 *             if (call->kind == REGLUE_TURN) {
 *                 choose(call, call->actions);        // the author's own
 *                 reglue_act(session, NULL, 0);
 *             }
 *     if (rc != REGLUE_DONE) fprintf(stderr, "%s\n", reglue_errmsg(session));
 *     reglue_close(session);
 *
 * A benchmark program calls RL-Glue's routines, reglue_rl_init and its like.
 *
 * RESULTS. Functions that return int return a code of `enum reglue_result`. Codes below
 * REGLUE_CALL are errors; the handle's errmsg then says what was got, what was wanted and what to do.
 * An error changes nothing unless it is said here.
 *
 * MEMORY. Handles (reglue_session, reglue_experiment) are the library's and are given back by
 * their close function, also when they could not connect. All that the library points at
 * is the library's too: read it as long as it is said here, never free it. All that is handed
 * to a function stays the caller's, and is not looked at any more when the function has returned.
 * Texts are UTF-8 and end with a NUL; one that is handed in may be of any length.
 *
 * ARRAYS are row-major, one row a slot, in the byte order of the machine (which is little-endian). What
 * they hold is said by the spec: `rows * tensor.row_bytes` bytes each, a bool is a byte of 0 or 1. They lie at addresses
 * that are good for their type. An array without bytes may be NULL.
 *
 * VERSIONS. Under one soname (libreglue.so.0) functions, numbers and fields stay what and where they are.
 * Structs that the library makes, reglue_tensor excepted, may grow at their end.
 *
 * THREADS. Each handle is used by one thread at a time; several handles by several threads.
 * The library has threads of its own: do not fork while a handle is open. It installs no
 * signal handlers, and no C++ exception leaves it.
 */
#ifndef REGLUE_H
#define REGLUE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define REGLUE_API __attribute__((visibility("default")))
#else
#define REGLUE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. The numbers do not change. */
enum reglue_result {
    REGLUE_OK = 0,
    /* The caller's fault. */
    REGLUE_USAGE = 1,       /* an argument that is none, or no address was given */
    REGLUE_MISUSE = 2,      /* not legal now, such as to ask for the next call where a turn waits for actions */
    REGLUE_NO_MEMORY = 3,
    /* The door. */
    REGLUE_UNREACHABLE = 10,   /* no glue answered in time */
    REGLUE_REFUSED = 11,       /* the glue did not let the program in; the message has its reason */
    REGLUE_WRONG_TOKEN = 12,
    REGLUE_WRONG_VERSION = 13,
    REGLUE_WRONG_TLS = 14,
    REGLUE_BUSY = 15,          /* the place is taken */
    /* The session; it is over, all that is left is to close it. */
    REGLUE_LOST = 20,          /* the glue went away, or said what is not of the protocol */
    /* A routine of a benchmark program's that was refused. */
    REGLUE_WRONG_SIZE = 30,    /* rows that do not fit the spec */
    REGLUE_OUT_OF_ORDER = 31,  /* not legal now; the message says what to call first */
    REGLUE_UNKNOWN_KEY = 32,
    REGLUE_NOT_SUPPORTED = 33, /* the environment has no such routine */
    REGLUE_OUT_OF_DOMAIN = 34, /* a slot that there is not, no such seed or limit */
    REGLUE_REFUSED_ROUTINE = 35, /* for a reason that this version does not know */
    /* A routine of a benchmark program's that could not be finished: whose fault it was. */
    REGLUE_AGENT_FAULT = 40,
    REGLUE_ENVIRONMENT_FAULT = 41,
    /* No errors. */
    REGLUE_CALL = 100,         /* reglue_next has a call */
    REGLUE_DONE = 101          /* the glue said farewell: all is well */
};

/* The name of a code without its prefix, such as "OUT_OF_ORDER"; never NULL. It stays. */
REGLUE_API const char *reglue_result_name(int result);

/* The library's version, such as "0.1.0". It stays. */
REGLUE_API const char *reglue_version(void);


/* ---- What an agent sees and does ---- */

enum reglue_dtype { /* of one element */
    REGLUE_BOOL = 1,
    REGLUE_UINT8 = 2,
    REGLUE_UINT16 = 3,
    REGLUE_UINT32 = 4,
    REGLUE_UINT64 = 5,
    REGLUE_INT8 = 6,
    REGLUE_INT16 = 7,
    REGLUE_INT32 = 8,
    REGLUE_INT64 = 9,
    REGLUE_FLOAT32 = 10,
    REGLUE_FLOAT64 = 11
};

enum reglue_domain {
    REGLUE_BOX = 1,            /* each element from its low to its high, both inclusive */
    REGLUE_DISCRETE = 2,       /* one of n[0] integers from `start` on */
    REGLUE_MULTI_DISCRETE = 3, /* element i is 0 to n[i] - 1 */
    REGLUE_MULTI_BINARY = 4    /* each element is 0 or 1 */
};

/* One named array. */
typedef struct reglue_tensor {
    const char *name;
    const uint32_t *shape; /* `axes` sizes of one row, without the axis of rows */
    uint32_t axes;         /* 0: a scalar */
    int32_t dtype;         /* enum reglue_dtype */
    int32_t domain;        /* enum reglue_domain */
    uint32_t reserved;     /* 0 */
    uint64_t size;         /* elements of one row */
    uint64_t row_bytes;    /* bytes of one row */
    const double *low;     /* `lows` lower bounds: 0 (unbounded), 1 (for every element), or `size` */
    uint64_t lows;
    const double *high;    /* `highs` upper bounds, likewise */
    uint64_t highs;
    const uint64_t *n;     /* `ns` numbers: 1 of discrete, `size` of multi_discrete, else 0 */
    uint64_t ns;
    int64_t start;         /* of discrete */
} reglue_tensor;

/* What every episode of a session promises. */
typedef struct reglue_spec {
    const reglue_tensor *observations;
    const reglue_tensor *actions;
    uint32_t observation_count; /* at least 1 */
    uint32_t action_count;      /* at least 1 */
    double reward_low;          /* of one step; -infinity if unknown */
    double reward_high;
    double discount;            /* 0 to 1 */
    uint32_t horizon;           /* steps to truncation; 0: none */
    uint32_t slots;             /* episodes played at once; slots are 0 to slots - 1 */
    uint8_t continuing;         /* 1: one episode without end */
    uint8_t rewards_in_evaluation; /* 0: turns of REGLUE_EVALUATE have no rewards */
} reglue_spec;


/* ---- Coming in ---- */

enum reglue_transport {
    REGLUE_AUTO = 0, /* the Unix socket where the glue offers one that can be opened, else gRPC */
    REGLUE_GRPC = 1,
    REGLUE_UNIX = 2
};

/* What an agent can do; bits of reglue_options.abilities. */
enum reglue_ability {
    REGLUE_PARTIAL_TURNS = 1, /* turns may leave live slots out */
    REGLUE_ADAPTS = 2,        /* plays REGLUE_ADAPT_BEGIN and REGLUE_ADAPT */
    REGLUE_NO_ENDS = 4        /* cannot take an episode's end: plays continuing tasks alone */
};

/* Where to join, and who does. Zeros stand for what is usual. */
typedef struct reglue_options {
    const char *address;  /* HOST:PORT or a join string; NULL: environment variable REGLUE_ADDRESS */
    const char *token;    /* NULL: the join string's, else environment variable REGLUE_TOKEN */
    const char *ca;       /* path of a PEM file: speak TLS and trust this authority alone */
    const char *tls_name; /* the name on the glue's certificate; NULL: the host's */
    const char *name;     /* for reports; NULL: "agent" or "experiment" */
    double patience_s;    /* how long to wait for a glue that is not up yet; 0: 60 seconds */
    int32_t transport;    /* enum reglue_transport */
    uint32_t abilities;   /* of an agent */
    uint32_t max_slots;   /* of an agent: most slots that it plays at once; 0: any number */
} reglue_options;


/* ---- Agents ---- */

typedef struct reglue_session reglue_session;

/* Makes a session of an agent's; the first reglue_next joins the glue.
 *
 * `*session` is set also where that fails, so that reglue_errmsg can say why; it is NULL
 * only where there is no memory. Close it in any case. `options` may be NULL.
 * REGLUE_OK, REGLUE_USAGE (no address, or none that can be), REGLUE_NO_MEMORY. */
REGLUE_API int reglue_connect(const reglue_options *options, reglue_session **session);

/* Gives back all that the session holds. To leave before the glue's farewell counts as the agent's
 * fault. NULL is let pass. */
REGLUE_API void reglue_close(reglue_session *session);

/* What went wrong last, or the words of the glue's farewell; "" if there is nothing to say. Lasts
 * until the next function on this session. */
REGLUE_API const char *reglue_errmsg(const reglue_session *session);

enum reglue_kind {
    REGLUE_INIT = 1,        /* agent_init: forget everything; `spec` is the task */
    REGLUE_TURN = 2,        /* agent_end, agent_step and agent_start: answer with reglue_act */
    REGLUE_FREEZE = 3,      /* agent_freeze: stop learning and exploring */
    REGLUE_ADAPT_BEGIN = 4, /* back to the meta-trained state */
    REGLUE_ADAPT = 5,       /* learn from the episodes since */
    REGLUE_MESSAGE = 6,     /* agent_message: `text`; answer with reglue_answer */
    REGLUE_CLEANUP = 7      /* agent_cleanup: release what the init took */
};

enum reglue_phase {
    REGLUE_TRAIN = 1,
    REGLUE_ADAPTING = 2, /* the wire's PHASE_ADAPT */
    REGLUE_EVALUATE = 3
};

enum reglue_end_kind {
    REGLUE_TERMINATED = 1, /* the task ended: no future reward */
    REGLUE_TRUNCATED = 2,  /* time ran out: bootstrap from the observation */
    REGLUE_VOID = 3        /* the environment failed: the episode does not count */
};

enum reglue_step_flag {
    REGLUE_DEFAULTED = 1, /* no action came in time, a default was played */
    REGLUE_CLIPPED = 2    /* the action lay outside its box */
};

/* Bits of reglue_budget.limited: what is limited. */
enum reglue_limit {
    REGLUE_STEP_LIMITED = 1,
    REGLUE_BANK_LIMITED = 2,
    REGLUE_ADAPT_LIMITED = 4,
    REGLUE_RUN_LIMITED = 8
};

/* What remains to the agent, microseconds, by the glue's clock; 0 where there is no limit. */
typedef struct reglue_budget {
    uint64_t step_us;  /* for this call */
    uint64_t bank_us;  /* what slow calls may draw on beyond their step's time */
    uint64_t adapt_us; /* for all adaptation calls of this wave */
    uint64_t run_us;   /* for all calls from REGLUE_INIT on */
    uint32_t limited;  /* bits of enum reglue_limit */
    uint32_t reserved; /* 0 */
} reglue_budget;

/* A call of the glue's. Fields that its kind has no use for are 0.
 *
 * Rows of `rewards`: `ends`, then `steps`. Rows of each observation: ends, steps, starts.
 * Rows of each action: steps, then starts; they are zeros until the agent writes them. */
typedef struct reglue_call {
    int32_t kind;  /* enum reglue_kind */
    int32_t phase; /* enum reglue_phase, of a turn */
    uint32_t ends;
    uint32_t steps;
    uint32_t starts;
    uint32_t reserved;            /* 0 */
    const uint32_t *end_slots;    /* `ends` */
    const uint8_t *end_kinds;     /* `ends`, enum reglue_end_kind */
    const uint32_t *step_slots;   /* `steps` */
    const uint8_t *step_flags;    /* `steps`, bits of enum reglue_step_flag; pass over others */
    const uint32_t *start_slots;  /* `starts` */
    const uint64_t *start_seeds;  /* `starts`: of the agent's own chance in this episode */
    const double *rewards;        /* ends + steps, of the actions before; NaN where they are withheld */
    const void *const *observations; /* spec->observation_count arrays */
    void *const *actions;         /* spec->action_count arrays to write, before reglue_act */
    const reglue_spec *spec;      /* of the last init; NULL before */
    const char *text;             /* of a message; else "" */
    reglue_budget budget;
} reglue_call;

/* Waits for the next call, as long as it takes.
 *
 * Calls that return nothing, and messages that the agent has nothing to say to, are answered
 * by asking for the next one; a turn is not: that is REGLUE_MISUSE. `*call` and all that it
 * points at last until it is answered, the spec until the next init.
 *
 * A connection that breaks is made again as long as the glue allows, and every call is seen once;
 * where the glue has forgotten the session, it is joined anew, and an init follows. Of answers that the
 * glue has refused a line to stderr tells, with what was got and what was wanted.
 *
 * REGLUE_CALL, REGLUE_DONE (the glue said farewell, reglue_errmsg has its words), REGLUE_MISUSE, an error
 * of the door, REGLUE_LOST, or REGLUE_USAGE for REGLUE_UNIX where there is no such socket.
 * `*call` is NULL but for REGLUE_CALL. After an error all that is left is reglue_fault and reglue_close,
 * but for REGLUE_MISUSE. */
REGLUE_API int reglue_next(reglue_session *session, const reglue_call **call);

/* Answers the turn with what was written to its actions, giving up the episodes of the `count` slots
 * of `abandoned` (whose rows are not looked at).
 * REGLUE_OK, REGLUE_MISUSE (the present call is no turn, or is answered), REGLUE_USAGE. */
REGLUE_API int reglue_act(reglue_session *session, const uint32_t *abandoned, size_t count);

/* Answers the message. REGLUE_OK, REGLUE_MISUSE, REGLUE_USAGE. */
REGLUE_API int reglue_answer(reglue_session *session, const char *text);

/* Says that the agent failed and cannot go on, waits a few seconds for the farewell and ends the
 * session. What stands in `what` will stand in the report; 4096 characters are kept. Better than to vanish.
 * REGLUE_OK, REGLUE_MISUSE (the session is over already), REGLUE_USAGE. */
REGLUE_API int reglue_fault(reglue_session *session, const char *what);


/* ---- Benchmark programs: RL-Glue's routines ---- */

typedef struct reglue_experiment reglue_experiment;

/* Rows of an answer, in the order of `slots`. What a routine does not return is NULL: half steps have
 * some of it, and the agent's alone no slots, since their rows are as the caller's. */
typedef struct reglue_rows {
    uint32_t count;
    uint32_t reserved;          /* 0 */
    const uint32_t *slots;      /* `count` */
    const double *rewards;      /* `count` */
    const uint8_t *flags;       /* `count`, bits of enum reglue_flag */
    const void *const *observations; /* one array a tensor of the spec */
    const void *const *actions; /* likewise; the rows of episodes that are over are zeros */
} reglue_rows;

enum reglue_flag {
    REGLUE_FLAG_TERMINATED = 1,
    REGLUE_FLAG_TRUNCATED = 2,
    REGLUE_FLAG_SUCCESS = 4
};

/* Joins a glue as a benchmark program; as reglue_connect. */
REGLUE_API int reglue_experiment_connect(const reglue_options *options,
                                         reglue_experiment **experiment);

/* Says farewell, and gives back all that it holds: the glue lets agent and environment go.
 * NULL is let pass. */
REGLUE_API void reglue_experiment_close(reglue_experiment *experiment);

/* What went wrong last; "" if nothing did. Lasts until the next function on this experiment. */
REGLUE_API const char *reglue_experiment_errmsg(const reglue_experiment *experiment);

/* How long a routine may take from now on, seconds, 0.001 to 1e9; at first 86400. RL_init's waiting for
 * agent and environment counts. One that takes longer is REGLUE_LOST. REGLUE_OK, REGLUE_LOST, REGLUE_USAGE. */
REGLUE_API int reglue_experiment_timeout(reglue_experiment *experiment, double timeout_s);

/* All of them return REGLUE_OK, or: an error of a routine that was refused (nothing has changed), a fault
 * (the episodes of its slots are over), REGLUE_LOST, REGLUE_USAGE.
 *
 * `slots` are `count` numbers; none of them mean all (a step: all in mid-episode). What is given out by
 * `rows`, `spec`, `answer` or `key` lasts until the next routine of the same experiment, the spec
 * until the next reglue_rl_init. */

/* RL_init: env_init, then agent_init; waits until both are there. `task` NULL is the
 * environment's first task. `spec` may be NULL. */
REGLUE_API int reglue_rl_init(reglue_experiment *experiment, uint32_t slots, uint64_t seed,
                              const char *task, uint32_t variant, const reglue_spec **spec);

/* RL_start: first observations and actions. A live episode is cut off. */
REGLUE_API int reglue_rl_start(reglue_experiment *experiment, const uint32_t *slots, size_t count,
                               const reglue_rows **rows);

/* RL_step: rewards, observations, flags and the next actions. */
REGLUE_API int reglue_rl_step(reglue_experiment *experiment, const uint32_t *slots, size_t count,
                              const reglue_rows **rows);

/* RL_episode of 3.0: one episode in each slot, of at most `max_steps` (0: no limit; the start counts as
 * the first). `*ended` is 1 if all ended by themselves; it may be NULL. */
REGLUE_API int reglue_rl_episode(reglue_experiment *experiment, uint64_t max_steps,
                                 const uint32_t *slots, size_t count, int32_t *ended);

/* RL_return: the sum of rewards of the present or last episode. */
REGLUE_API int reglue_rl_return(reglue_experiment *experiment, uint32_t slot, double *sum);

/* RL_num_steps of 3.0: actions chosen in the present or last episode. */
REGLUE_API int reglue_rl_num_steps(reglue_experiment *experiment, uint32_t slot, uint64_t *steps);

/* RL_num_episodes: episodes that ended by themselves since RL_init. */
REGLUE_API int reglue_rl_num_episodes(reglue_experiment *experiment, uint32_t slot,
                                      uint64_t *episodes);

/* RL_cleanup: env_cleanup, then agent_cleanup. Counts stay; RL_init comes next. */
REGLUE_API int reglue_rl_cleanup(reglue_experiment *experiment);

/* RL_freeze: what follows is judged, until the next RL_init. */
REGLUE_API int reglue_rl_freeze(reglue_experiment *experiment);

/* RL_standardize_randomness: from the next start on, the chance of the n-th start is that of
 * reglue_chance{seed, n, 0}. */
REGLUE_API int reglue_rl_standardize_randomness(reglue_experiment *experiment, uint64_t seed);

/* RL_get_state, RL_set_state: a key that names the environment's state. */
REGLUE_API int reglue_rl_get_state(reglue_experiment *experiment, uint32_t slot, const char **key);
REGLUE_API int reglue_rl_set_state(reglue_experiment *experiment, uint32_t slot, const char *key);

/* RL_get_random_seed, RL_set_random_seed: a key that names where the environment's chance stands. */
REGLUE_API int reglue_rl_get_random_seed(reglue_experiment *experiment, uint32_t slot,
                                         const char **key);
REGLUE_API int reglue_rl_set_random_seed(reglue_experiment *experiment, uint32_t slot,
                                         const char *key);

/* RL_agent_message, RL_env_message; legal at any time. */
REGLUE_API int reglue_rl_agent_message(reglue_experiment *experiment, const char *text,
                                       const char **answer);
REGLUE_API int reglue_rl_env_message(reglue_experiment *experiment, const char *text,
                                     const char **answer);

/* The half steps, for programs that stand between the two. `actions` and `observations` are one array
 * a tensor of the spec, of `count` rows each; `rewards` are `count` numbers. Legal after RL_init. */
REGLUE_API int reglue_rl_env_start(reglue_experiment *experiment, const uint32_t *slots,
                                   size_t count, const reglue_rows **rows);
REGLUE_API int reglue_rl_env_step(reglue_experiment *experiment, const uint32_t *slots, size_t count,
                                  const void *const *actions, const reglue_rows **rows);
REGLUE_API int reglue_rl_agent_start(reglue_experiment *experiment, const uint32_t *slots,
                                     size_t count, const void *const *observations,
                                     const reglue_rows **rows);
REGLUE_API int reglue_rl_agent_step(reglue_experiment *experiment, const uint32_t *slots,
                                    size_t count, const double *rewards,
                                    const void *const *observations, const reglue_rows **rows);
REGLUE_API int reglue_rl_agent_end(reglue_experiment *experiment, const uint32_t *slots, size_t count,
                                   const double *rewards, const void *const *observations,
                                   int32_t truncated);


/* ---- Chance that is the same on every platform ---- */

/* The random numbers of one episode: Philox 4x64, numbered. The caller's own, 24 bytes; copying it
 * keeps where it stands. The same seed, episode and number always give the same word. */
typedef struct reglue_chance {
    uint64_t seed;    /* such as a start's */
    uint64_t episode;
    uint64_t drawn;   /* words so far */
} reglue_chance;

/* 64 random bits. */
REGLUE_API uint64_t reglue_chance_word(reglue_chance *chance);

/* A number of `low` up to `high`, which itself is met only where rounding gives it. */
REGLUE_API double reglue_chance_uniform(reglue_chance *chance, double low, double high);

/* An integer of 0 to n - 1, each as likely; n 0 stands for 2^64. */
REGLUE_API uint64_t reglue_chance_below(reglue_chance *chance, uint64_t n);

#ifdef __cplusplus
}
#endif

#endif
