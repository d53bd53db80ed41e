/** @file
 *
 * Reglue in C: agents, environments and benchmark programs of RL-Glue over a network.
 *
 * Nothing calls back. An agent asks for the next call of the glue's, looks at it, and answers:
 *
 *     reglue_options options = {0};
 *     reglue_session *session;
 *     const reglue_call *call;
 *     int rc = reglue_connect(&options, &session);
 *     while (rc == REGLUE_OK && (rc = reglue_next(session, &call)) == REGLUE_CALL) {
 *         rc = REGLUE_OK;
 *         if (call->kind == REGLUE_TURN) {
 *             choose(call, call->actions);        // the author's own
 *             rc = reglue_act(session, NULL, 0);
 *         }
 *     }
 *     fprintf(stderr, "%s\n", reglue_errmsg(session)); // the farewell, or what went wrong
 *     reglue_close(session);
 *
 * An environment does the same with reglue_environment_next and its like. A benchmark program calls
 * RL-Glue's routines, reglue_rl_init and its like.
 *
 * RESULTS. Functions that return int return a code of `enum reglue_result`. Codes below
 * REGLUE_CALL are errors; the handle's errmsg then says what it got, what it wanted and what to do.
 * An error changes nothing unless this header says so.
 *
 * MEMORY. The library owns handles (reglue_session, reglue_environment, reglue_experiment); their close
 * function frees them, also when they could not connect. It owns what it points at, too: this header says
 * how long that is valid; never free it. The caller keeps what it passes; the library does not use it after
 * the function has returned. Texts are UTF-8 and end with a NUL, and may have any length.
 *
 * ARRAYS are row-major, one row a slot, in the byte order of the machine (which is little-endian). The
 * spec says what they hold: `rows * tensor.row_bytes` bytes each; a bool is a byte, 0 or 1. They are
 * aligned for their type. An array without bytes may be NULL.
 *
 * VERSIONS. Under one soname (libreglue.so.0) functions, numbers and fields do not change. Structs
 * that the library alone makes may grow at their end, except reglue_cell and reglue_budget, which
 * stand in arrays and in other structs.
 *
 * THREADS. One thread at a time may use a handle; several threads may use several handles. Only reglue_stop
 * and reglue_environment_stop may be called meanwhile.
 * The library has threads of its own: do not fork while a handle is open. It handles SIGINT and
 * SIGTERM unless the program does, or says otherwise (reglue_handle_signals). No C++ exception leaves it.
 */
#ifndef REGLUE_H
#define REGLUE_H

#include <math.h>
#include <signal.h>
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

/** @defgroup results Results and messages
 * @{ */

/** What functions return. The numbers do not change. */
enum reglue_result {
    REGLUE_OK = 0,
    /* The caller's fault. */
    REGLUE_USAGE = 1,       /**< an invalid argument, or no address */
    REGLUE_MISUSE = 2,      /**< not legal now, such as reglue_next while a turn waits for its actions */
    REGLUE_NO_MEMORY = 3,
    /* The glue's answer to a program that joins. */
    REGLUE_UNREACHABLE = 10,   /**< no glue answered in time */
    REGLUE_REFUSED = 11,       /**< the glue refused the program; the message says why */
    REGLUE_WRONG_TOKEN = 12,
    REGLUE_WRONG_VERSION = 13,
    REGLUE_WRONG_TLS = 14,
    REGLUE_BUSY = 15,          /**< the place is taken */
    /* The session is over: close it. */
    REGLUE_LOST = 20,          /**< the glue went away, or broke the protocol */
    /* A benchmark program's routine was refused. */
    REGLUE_WRONG_SIZE = 30,    /**< rows that do not fit the spec */
    REGLUE_OUT_OF_ORDER = 31,  /**< not legal now; the message says what to call first */
    REGLUE_UNKNOWN_KEY = 32,
    REGLUE_NOT_SUPPORTED = 33, /**< the environment has no such routine */
    REGLUE_OUT_OF_DOMAIN = 34, /**< an unknown slot, seed or limit */
    REGLUE_REFUSED_ROUTINE = 35, /**< for a reason that this version does not know */
    /* A benchmark program's routine failed: whose fault it was. */
    REGLUE_AGENT_FAULT = 40,
    REGLUE_ENVIRONMENT_FAULT = 41,
    /* No errors. */
    REGLUE_CALL = 100,         /**< reglue_next has a call */
    REGLUE_DONE = 101,         /**< the glue said farewell, or the program has stopped the session */
    REGLUE_WAITING = 102       /**< reglue_next_within has none yet */
};

/** The name of a code without its prefix, such as "OUT_OF_ORDER"; never NULL, valid for ever. */
REGLUE_API const char *reglue_result_name(int result);

/** The exit code that main should return for the last result of a session or experiment: 0 after the glue's
 * farewell or REGLUE_OK, 2 for wrong usage or if the glue refused the program, 130 if SIGINT ended it and 143 if
 * SIGTERM did (reglue_handle_signals), else 1. */
REGLUE_API int reglue_exit_code(int result);

/** The library's version, such as "0.1.0"; valid for ever. */
REGLUE_API const char *reglue_version(void);

/** Gets a message for the program's author, such as a refusal or a lost connection; without a line break at its
 * end, valid until it returns. It must not call this library, throw or jump. */
typedef void (*reglue_log)(const char *line, void *user);

/** Where handles that are made from now on write their lines: to `log`, with `user`, on the thread that uses
 * the handle. NULL, as at first: to stderr. */
REGLUE_API void reglue_set_log(reglue_log log, void *user);

/** Says which client library handles that are made from now on belong to, by its name and version such as
 * "reglue-julia 0.1.0", if it is built on this one: the glue's messages say how its language does what they want. NULL,
 * as at first: this library. */
REGLUE_API void reglue_set_sdk(const char *sdk);

/** Names the flag of all handles. They look at it twenty times a second while they wait, and
 * leave once it is not 0, and tell the glue "interrupted": an agent and an environment as by reglue_stop; joining as
 * a benchmark program, and its routines, return REGLUE_LOST. An experiment that is closed meanwhile says so, too. A
 * signal handler may set it. It must outlive the handles. NULL, as at first: none. */
REGLUE_API void reglue_set_stop(const volatile sig_atomic_t *stop);

/** Whether the library handles SIGINT (Ctrl-C) and SIGTERM (docker stop) from the process's first handle on; it does
 * unless this is called with 0 before. The first signal ends whatever waits, as reglue_set_stop does, and
 * reglue_exit_code has the exit code; the second ends the process at once, also while the program computes. A signal
 * that the program handles or ignores by itself is left alone. */
REGLUE_API void reglue_handle_signals(int handles);

/** @} */


/** @defgroup specs What agents see and do
 * @{ */

/** Type of one element. */
enum reglue_dtype {
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

/** Which values a tensor takes. */
enum reglue_domain {
    REGLUE_BOX = 1,            /**< each element from its low to its high, both inclusive */
    REGLUE_DISCRETE = 2,       /**< one of n[0] integers from `start` on */
    REGLUE_MULTI_DISCRETE = 3, /**< element i is 0 to n[i] - 1 */
    REGLUE_MULTI_BINARY = 4    /**< each element is 0 or 1 */
};

/** One named array. */
typedef struct reglue_tensor {
    const char *name;
    const uint32_t *shape; /**< `axes` sizes of one row, without the axis of rows */
    uint32_t axes;         /**< 0: a scalar */
    int32_t dtype;         /**< enum reglue_dtype */
    int32_t domain;        /**< enum reglue_domain */
    uint32_t reserved;     /**< 0 */
    uint64_t size;         /**< elements of one row; the library works it out */
    uint64_t row_bytes;    /**< bytes of one row; likewise */
    const double *low;     /**< `lows` lower bounds: 0 (unbounded), 1 (for every element), or `size` */
    uint64_t lows;
    const double *high;    /**< `highs` upper bounds, likewise */
    uint64_t highs;
    const uint64_t *n;     /**< `ns` numbers: 1 of discrete, `size` of multi_discrete, else 0 */
    uint64_t ns;
    int64_t start;         /**< of discrete */
} reglue_tensor;

/** What every episode of a session promises. */
typedef struct reglue_spec {
    const reglue_tensor *observations;
    const reglue_tensor *actions;
    uint32_t observation_count; /**< at least 1 */
    uint32_t action_count;      /**< at least 1 */
    double reward_low;          /**< of one step; -infinity if unknown */
    double reward_high;
    double discount;            /**< 0 to 1 */
    uint32_t horizon;           /**< steps to truncation; 0: none */
    uint32_t slots;             /**< episodes played at once; slots are 0 to slots - 1 */
    uint8_t continuing;         /**< 1: one episode without end */
    uint8_t rewards_in_evaluation; /**< 0: turns of REGLUE_EVALUATE have no rewards */
    const char *extra;          /**< what else the environment says of the task; NULL: nothing */
} reglue_spec;

/** What an environment's spec begins with: no tensors yet, any reward, discount 1, no horizon. */
#define REGLUE_SPEC_DEFAULTS {NULL, NULL, 0, 0, -HUGE_VAL, HUGE_VAL, 1.0, 0, 0, 0, 1, NULL}

/** @} */


/** @defgroup connecting Connecting
 * @{ */

/** How messages travel. */
enum reglue_transport {
    REGLUE_AUTO = 0, /**< the Unix socket where the glue offers one that can be opened, else gRPC */
    REGLUE_GRPC = 1,
    REGLUE_UNIX = 2
};

/** What an agent can do; bits of reglue_options.abilities. 0 is what the other clients default to, too. */
enum reglue_ability {
    REGLUE_PARTIAL_TURNS = 1, /**< turns may leave live slots out */
    REGLUE_ADAPTS = 2,        /**< plays REGLUE_ADAPT_BEGIN and REGLUE_ADAPT */
    REGLUE_NO_ENDS = 4        /**< cannot handle an episode's end: plays only continuing tasks */
};

/** Where to join, and as what. Zeros are the defaults. */
typedef struct reglue_options {
    const char *address;  /**< HOST:PORT or a join string; NULL: environment variable REGLUE_ADDRESS */
    const char *token;    /**< NULL: the join string's, else environment variable REGLUE_TOKEN */
    const char *ca;       /**< path of a PEM file: speak TLS and trust this authority alone */
    const char *tls_name; /**< the name on the glue's certificate; NULL: the host's */
    const char *name;     /**< for reports; NULL: "agent", "environment" or "experiment" */
    double connect_timeout_s;    /**< how long to wait for a glue that is not up yet; 0: 60 seconds */
    int32_t transport;    /**< enum reglue_transport */
    uint32_t abilities;   /**< of an agent */
    uint32_t max_slots;   /**< of an agent or environment: most slots that it plays at once; 0: any number */
} reglue_options;

/** @} */


/** @defgroup agents Agents
 * @{ */

/** An agent's session at a glue. */
typedef struct reglue_session reglue_session;

/** Makes an agent's session; the first reglue_next joins the glue.
 *
 * `*session` is set even on failure, so that reglue_errmsg can say why; it is NULL only if memory
 * ran out. Close it in any case. `options` may be NULL.
 * REGLUE_OK, REGLUE_USAGE (no address, or an invalid one), REGLUE_NO_MEMORY. */
REGLUE_API int reglue_connect(const reglue_options *options, reglue_session **session);

/** Frees the session. Closing it before the glue's farewell counts as the agent's fault. NULL is
 * ignored. */
REGLUE_API void reglue_close(reglue_session *session);

/** The last error, the text of reglue_fault, or the text of the glue's farewell; "" before any of them.
 * Valid until the next call on this session; that call itself may take the text, such as reglue_fault. */
REGLUE_API const char *reglue_errmsg(const reglue_session *session);

/** What the glue asks of an agent. */
enum reglue_kind {
    REGLUE_INIT = 1,        /**< agent_init: forget everything; `spec` is the task */
    REGLUE_TURN = 2,        /**< agent_end, agent_step and agent_start: answer with reglue_act */
    REGLUE_FREEZE = 3,      /**< agent_freeze: stop learning and exploring */
    REGLUE_ADAPT_BEGIN = 4, /**< back to the meta-trained state */
    REGLUE_ADAPT = 5,       /**< learn from the episodes since */
    REGLUE_MESSAGE = 6,     /**< agent_message: `text`; answer with reglue_answer */
    REGLUE_CLEANUP = 7      /**< agent_cleanup: release what the init took */
};

/** What episodes are for. */
enum reglue_phase {
    REGLUE_TRAIN = 1,
    REGLUE_ADAPTING = 2, /**< the wire's PHASE_ADAPT */
    REGLUE_EVALUATE = 3
};

/** How an episode ended. */
enum reglue_end_kind {
    REGLUE_TERMINATED = 1, /**< the task ended: no future reward */
    REGLUE_TRUNCATED = 2,  /**< time ran out: bootstrap from the observation */
    REGLUE_VOID = 3        /**< the environment failed: the episode does not count */
};

/** What the glue did with the action before; bits. */
enum reglue_step_flag {
    REGLUE_DEFAULTED = 1, /**< no action came in time, a default was played */
    REGLUE_CLIPPED = 2    /**< the action lay outside its box */
};

/** Bits of reglue_budget.limited: what is limited. */
enum reglue_limit {
    REGLUE_STEP_LIMITED = 1,
    REGLUE_BANK_LIMITED = 2,
    REGLUE_ADAPT_LIMITED = 4,
    REGLUE_RUN_LIMITED = 8
};

/** The agent's time left, microseconds, by the glue's clock; 0 if there is no limit. */
typedef struct reglue_budget {
    uint64_t step_us;  /**< for this call */
    uint64_t bank_us;  /**< extra time that slow calls may use */
    uint64_t adapt_us; /**< for all adaptation calls of this wave */
    uint64_t run_us;   /**< for all calls from REGLUE_INIT on */
    uint32_t limited;  /**< bits of enum reglue_limit */
    uint32_t reserved; /**< 0 */
} reglue_budget;

/** A call from the glue. Fields that its kind does not use are 0.
 *
 * Rows of `rewards`: `ends`, then `steps`. Rows of each observation: ends, steps, starts.
 * Rows of each action: steps, then starts; zeros until the agent writes them. */
typedef struct reglue_call {
    int32_t kind;  /**< enum reglue_kind */
    int32_t phase; /**< enum reglue_phase, of a turn */
    uint32_t ends;
    uint32_t steps;
    uint32_t starts;
    uint32_t reserved;            /**< 0 */
    const uint32_t *end_slots;    /**< `ends` */
    const uint8_t *end_kinds;     /**< `ends`, enum reglue_end_kind */
    const uint32_t *step_slots;   /**< `steps` */
    const uint8_t *step_flags;    /**< `steps`, bits of enum reglue_step_flag; ignore others */
    const uint32_t *start_slots;  /**< `starts` */
    const uint64_t *start_seeds;  /**< `starts`: of the agent's own random numbers in this episode */
    const double *rewards;        /**< ends + steps, of the actions before; NaN where they are withheld */
    const void *const *observations; /**< spec->observation_count arrays */
    void *const *actions;         /**< spec->action_count arrays to write, before reglue_act */
    const reglue_spec *spec;      /**< of the last init; NULL before */
    const char *text;             /**< of a message; else "" */
    reglue_budget budget;
} reglue_call;

/** Waits for the next call, without limit.
 *
 * Asking for the next call answers one that returns nothing, and a message to which the agent has
 * nothing to say; a turn must be answered first, else it is REGLUE_MISUSE. `*call` and what it points
 * at are valid until it is answered, the spec until the next init; `reglue try` notices an agent that reads
 * older observations.
 *
 * The session reconnects when a connection breaks, as long as the glue allows; every call comes once.
 * If the glue has forgotten the session, it joins anew, and an init follows. A line on stderr says
 * which answer the glue refused, what it got and what it wanted.
 *
 * REGLUE_CALL, REGLUE_DONE (the glue said farewell, reglue_errmsg has its text; or reglue_stop was called),
 * REGLUE_MISUSE, an error of joining, REGLUE_LOST, or REGLUE_USAGE for REGLUE_UNIX without such a socket. `*call` is NULL
 * except for REGLUE_CALL. After an error other than REGLUE_MISUSE only reglue_fault and reglue_close
 * are left. */
REGLUE_API int reglue_next(reglue_session *session, const reglue_call **call);

/** As reglue_next, but waits `timeout_s` seconds at most, 0 to 1e9: REGLUE_WAITING if no call has come by
 * then. Ask again, as often as you like: joining and reconnecting go on where they were. One try of
 * theirs at a glue that does not answer may last some seconds longer. */
REGLUE_API int reglue_next_within(reglue_session *session, double timeout_s, const reglue_call **call);

/** Ends the session from outside: reglue_next and reglue_next_within stop waiting within 0.1 s, wait up to 2 s
 * for the glue's farewell and return REGLUE_DONE; reglue_errmsg says that the program has stopped the session.
 * Signal handlers and other threads may call this between reglue_connect and reglue_close. NULL is ignored. */
REGLUE_API void reglue_stop(reglue_session *session);

/** Answers the turn with what was written to its actions, and abandons the episodes of the `count`
 * slots of `abandoned`, whose rows are ignored.
 * REGLUE_OK, REGLUE_MISUSE (the present call is no turn, or is answered), REGLUE_USAGE (a slot that neither
 * steps nor starts in this turn). */
REGLUE_API int reglue_act(reglue_session *session, const uint32_t *abandoned, size_t count);

/** Answers the message. REGLUE_OK, REGLUE_MISUSE, REGLUE_USAGE. */
REGLUE_API int reglue_answer(reglue_session *session, const char *text);

/** Says that the agent failed and cannot go on, waits a few seconds for the farewell and ends the
 * session. `what` goes into the report; at most 4096 characters. Better than to leave without a reason.
 * REGLUE_OK, REGLUE_MISUSE (the session is over already), REGLUE_USAGE. */
REGLUE_API int reglue_fault(reglue_session *session, const char *what);

/** @} */


/** @defgroup environments Environments
 * @{ */

/** An environment's session at a glue. */
typedef struct reglue_environment reglue_environment;

/** Makes an environment's session; the first reglue_environment_next joins the glue. As reglue_connect. */
REGLUE_API int reglue_environment_connect(const reglue_options *options,
                                          reglue_environment **environment);

/** Frees the session. Closing it before the glue's farewell counts as the environment's fault. NULL is
 * ignored. */
REGLUE_API void reglue_environment_close(reglue_environment *environment);

/** As reglue_errmsg. */
REGLUE_API const char *reglue_environment_errmsg(const reglue_environment *environment);

/** How a step went, as environments and benchmark programs see it; bits. */
enum reglue_flag {
    REGLUE_FLAG_TERMINATED = 1, /**< the task ended: no future reward */
    REGLUE_FLAG_TRUNCATED = 2,  /**< time ran out */
    REGLUE_FLAG_SUCCESS = 4     /**< the task's own flag, at this step */
};

/** Calls from the glue to an environment. */
enum reglue_environment_kind {
    REGLUE_ENV_INIT = 1,            /**< env_init: begin anew; answer with reglue_environment_ready */
    REGLUE_ENV_PLAY = 2,            /**< env_step and env_start: answer with reglue_environment_played */
    REGLUE_ENV_GET_STATE = 3,       /**< env_get_state of `slot`: answer with reglue_environment_snapshot */
    REGLUE_ENV_SET_STATE = 4,       /**< env_set_state: continue `slot` from `snapshot`, to the bit */
    REGLUE_ENV_GET_RANDOM_SEED = 5, /**< env_get_random_seed of `slot`: answer with reglue_environment_snapshot */
    REGLUE_ENV_SET_RANDOM_SEED = 6, /**< env_set_random_seed: continue the random numbers of `slot` from `snapshot` */
    REGLUE_ENV_STANDARDIZE = 7,     /**< env_standardize_randomness: from now on the n-th start (n = 0, 1, ...)
                                       draws from reglue_rng{seed, n, 0}; until the next init */
    REGLUE_ENV_MESSAGE = 8,         /**< env_message: `text`; answer with reglue_environment_answer */
    REGLUE_ENV_CLEANUP = 9          /**< env_cleanup: release what the init took */
};

/** The episode to play. The cell and the actions decide every bit of it, whatever was played before and in
 * whichever slot: all random numbers follow from `seed` and `repeat`, as reglue_rng{seed, repeat, 0} does. */
typedef struct reglue_cell {
    const char *task;  /**< the name of a task that was offered */
    uint32_t variant;  /**< 0 to its variants - 1 */
    int32_t phase;     /**< enum reglue_phase; an episode of REGLUE_EVALUATE ends at its first success */
    uint64_t seed;     /**< 0 to 2^63 - 1 */
    uint64_t repeat;
    uint64_t steps;    /**< of the run before this episode; 0 if runs are not counted in steps */
} reglue_cell;

/** A call from the glue. Fields that its kind does not use are 0.
 *
 * Rows of `actions`, `rewards` and `flags`: `steps`. Rows of each observation: steps, then starts. Take one
 * step in each of `step_slots`, clipping actions outside a box; begin an episode in each of `start_slots`,
 * where one in play ends. No slot is in both. Rewards, flags and observations are zeros until they are
 * written. */
typedef struct reglue_environment_call {
    int32_t kind;                /**< enum reglue_environment_kind */
    uint32_t slots;              /**< of an init: how many, 1 or more */
    uint32_t slot;               /**< whose state or seed */
    uint32_t steps;
    uint32_t starts;
    uint32_t reserved;           /**< 0 */
    const uint32_t *step_slots;  /**< `steps` */
    const uint32_t *start_slots; /**< `starts` */
    const reglue_cell *cells;    /**< `starts` */
    const void *const *actions;  /**< spec->action_count arrays; NULL if nothing steps */
    double *rewards;             /**< `steps`, to write: of the actions, task units, unclipped, finite */
    uint8_t *flags;              /**< `steps`, to write: bits of enum reglue_flag */
    void *const *observations;   /**< spec->observation_count arrays to write */
    const reglue_spec *spec;     /**< of the last reglue_environment_ready; NULL before */
    const char *text;            /**< of a message; else "" */
    const void *snapshot;        /**< of a set: the bytes of an earlier reglue_environment_snapshot */
    uint64_t snapshot_bytes;
    uint64_t seed;               /**< of a standardize, 0 to 2^63 - 1 */
} reglue_environment_call;

/** Waits for the next call, without limit.
 *
 * Asking for the next call answers one that returns nothing, and a message to which the environment has
 * nothing to say; an init, a play and a get must be answered first, else it is REGLUE_MISUSE. `*call` and
 * what it points at are valid until it is answered, the spec until the next init is.
 *
 * The library refuses by itself what the environment does not offer, routines before the first init,
 * and unknown slots. It reconnects as reglue_next does, and returns the same. After an error other than
 * REGLUE_MISUSE only reglue_environment_fault and reglue_environment_close are left. */
REGLUE_API int reglue_environment_next(reglue_environment *environment,
                                       const reglue_environment_call **call);

/** As reglue_next_within. */
REGLUE_API int reglue_environment_next_within(reglue_environment *environment, double timeout_s,
                                              const reglue_environment_call **call);

/** As reglue_stop. */
REGLUE_API void reglue_environment_stop(reglue_environment *environment);

/** A task that can be played. */
typedef struct reglue_task {
    const char *name;  /**< unique */
    uint32_t variants; /**< goals, configurations; at least 1 */
    uint32_t reserved; /**< 0 */
} reglue_task;

/** What an environment offers beside its tasks; bits. */
enum reglue_offer {
    REGLUE_STATES = 1,          /**< plays REGLUE_ENV_GET_STATE and REGLUE_ENV_SET_STATE */
    REGLUE_PORTABLE_STATES = 2, /**< another process of it takes its states */
    REGLUE_SEEDS = 4,           /**< plays REGLUE_ENV_GET_RANDOM_SEED and REGLUE_ENV_SET_RANDOM_SEED */
    REGLUE_STANDARDIZES = 8,    /**< plays REGLUE_ENV_STANDARDIZE */
    REGLUE_NO_SUCCESS = 16,     /**< never reports success: its score is the return */
    REGLUE_WHOLE_TURNS = 32,    /**< a step may move every slot, not those alone that it names */
    REGLUE_NOT_REPEATABLE = 64  /**< its cells do not decide its episodes */
};

/** Answers an init: what every episode promises, the `count` tasks of `tasks` (the first is what RL_start
 * plays; 0: one that is called "task"), and `offers`, bits of enum reglue_offer. The library fills in the
 * spec's slots, and each tensor's size and row_bytes. It copies all of it.
 * REGLUE_OK, REGLUE_MISUSE (the present call is no init, or is answered), REGLUE_USAGE (a spec that
 * contradicts itself, tasks or offers that are none). */
REGLUE_API int reglue_environment_ready(reglue_environment *environment, const reglue_spec *spec,
                                        const reglue_task *tasks, size_t count, uint32_t offers);

/** Says, before the play is answered, that the environment failed in `slot`, which is one of the play's: its
 * episode is void, its row is ignored, and the others play on. `what` goes into the report; at most 4096
 * characters.
 * REGLUE_OK, REGLUE_MISUSE, REGLUE_USAGE (the play does not have that slot). */
REGLUE_API int reglue_environment_fault_slot(reglue_environment *environment, uint32_t slot,
                                             const char *what);

/** Answers the play with what was written to its rewards, flags and observations.
 * REGLUE_OK, REGLUE_MISUSE (the present call is no play, or is answered), REGLUE_USAGE. */
REGLUE_API int reglue_environment_played(reglue_environment *environment);

/** Answers a get with `count` bytes, in a format of the environment's own that it can recognize. A state is
 * the slot's whole episode with its random generators; a random seed is the generators alone.
 * REGLUE_OK, REGLUE_MISUSE, REGLUE_USAGE (more than a message may have). */
REGLUE_API int reglue_environment_snapshot(reglue_environment *environment, const void *bytes,
                                       size_t count);

/** Answers the message. REGLUE_OK, REGLUE_MISUSE, REGLUE_USAGE. */
REGLUE_API int reglue_environment_answer(reglue_environment *environment, const char *text);

/** Refuses the call, which is any but a play; nothing must have changed. `code` is REGLUE_OUT_OF_ORDER (a
 * get outside an episode), REGLUE_UNKNOWN_KEY (a snapshot that it did not make), REGLUE_NOT_SUPPORTED or
 * REGLUE_OUT_OF_DOMAIN; the glue receives `got` and `wanted`.
 * REGLUE_OK, REGLUE_MISUSE, REGLUE_USAGE. */
REGLUE_API int reglue_environment_refuse(reglue_environment *environment, int code, const char *got,
                                         const char *wanted);

/** Says that the environment failed and cannot go on; as reglue_fault. */
REGLUE_API int reglue_environment_fault(reglue_environment *environment, const char *what);

/** @} */


/** @defgroup experiments Benchmark programs
 *
 * All routines return REGLUE_OK, an error of a refused routine (nothing changed), a fault (the
 * episodes of its slots are over), REGLUE_LOST or REGLUE_USAGE.
 *
 * `slots` are `count` numbers; 0 means all (of a step: all live ones). `rows`, `answer` and `key` are
 * valid until the next routine of the same experiment, `spec` until the next reglue_rl_init.
 *
 * Half steps are for programs that come between agent and environment: `actions` and `observations` are one array
 * a tensor of the spec, of `count` rows each; `rewards` are `count` numbers. Legal after RL_init.
 *
 * @{ */

/** A benchmark program's session at a glue. */
typedef struct reglue_experiment reglue_experiment;

/** Rows of an answer, in the order of `slots`. What a routine does not return is NULL: a half step
 * returns some of it, and the agent's half steps no slots, since their rows are the caller's. */
typedef struct reglue_rows {
    uint32_t count;
    uint32_t reserved;          /**< 0 */
    const uint32_t *slots;      /**< `count` */
    const double *rewards;      /**< `count` */
    const uint8_t *flags;       /**< `count`, bits of enum reglue_flag */
    const void *const *observations; /**< one array a tensor of the spec */
    const void *const *actions; /**< likewise; zeros in rows whose episode is over */
} reglue_rows;

/** Joins a glue as a benchmark program; as reglue_connect. */
REGLUE_API int reglue_experiment_connect(const reglue_options *options,
                                         reglue_experiment **experiment);

/** Says farewell and frees the experiment; the glue lets agent and environment go. NULL is ignored. */
REGLUE_API void reglue_experiment_close(reglue_experiment *experiment);

/** The last error; "" before the first. Valid until the next call on this experiment. */
REGLUE_API const char *reglue_experiment_errmsg(const reglue_experiment *experiment);

/** How long a routine may take from now on, RL_init with its wait for agent and environment too;
 * seconds, 0.001 to 1e9, at first 86400. A longer one is REGLUE_LOST.
 * REGLUE_OK, REGLUE_LOST, REGLUE_USAGE. */
REGLUE_API int reglue_experiment_timeout(reglue_experiment *experiment, double timeout_s);

/** RL_init: env_init, then agent_init; waits until both are there. `task` NULL is the
 * environment's first task. `spec` may be NULL. */
REGLUE_API int reglue_rl_init(reglue_experiment *experiment, uint32_t slots, uint64_t seed,
                              const char *task, uint32_t variant, const reglue_spec **spec);

/** RL_tasks, since RL_init: how many tasks the environment has, numbered from 0. */
REGLUE_API int reglue_rl_num_tasks(reglue_experiment *experiment, size_t *tasks);

/** A task that reglue_rl_num_tasks has counted: its name, valid until the next of these, and how many variants
 * it has, 0 to `*variants` - 1. Each pointer may be NULL. This sends nothing to the glue. */
REGLUE_API int reglue_rl_task(reglue_experiment *experiment, size_t number, const char **name,
                              uint32_t *variants);

/** RL_start: first observations and actions. A live episode is cut off. */
REGLUE_API int reglue_rl_start(reglue_experiment *experiment, const uint32_t *slots, size_t count,
                               const reglue_rows **rows);

/** RL_start of a goal, which the slots play from now on: `variant` of `task`, or if `task` is NULL or empty of the
 * task that each slot plays already. No episode may be live there. The agent does not learn of goals, and
 * keeps what it knows; a freeze goes on. */
REGLUE_API int reglue_rl_start_goal(reglue_experiment *experiment, const uint32_t *slots,
                                    size_t count, const char *task, uint32_t variant,
                                    const reglue_rows **rows);

/** RL_iterate_goal: each slot's next start plays the next variant of its task, after the last one the
 * first. A slot that has not played since RL_init starts with what RL_init chose. */
REGLUE_API int reglue_rl_iterate_goal(reglue_experiment *experiment, const uint32_t *slots,
                                      size_t count);

/** RL_step: rewards, observations, flags and the next actions. */
REGLUE_API int reglue_rl_step(reglue_experiment *experiment, const uint32_t *slots, size_t count,
                              const reglue_rows **rows);

/** RL_episode of 3.0: one episode in each slot, of at most `max_steps` (0: no limit; the start counts as
 * the first). `*ended` is 1 if all ended by themselves; it may be NULL. */
REGLUE_API int reglue_rl_episode(reglue_experiment *experiment, uint64_t max_steps,
                                 const uint32_t *slots, size_t count, int32_t *ended);

/** RL_episode of a goal, as reglue_rl_start_goal. */
REGLUE_API int reglue_rl_episode_goal(reglue_experiment *experiment, uint64_t max_steps,
                                      const uint32_t *slots, size_t count, const char *task,
                                      uint32_t variant, int32_t *ended);

/** RL_return: the sum of rewards of the present or last episode. */
REGLUE_API int reglue_rl_return(reglue_experiment *experiment, uint32_t slot, double *sum);

/** RL_num_steps of 3.0: actions chosen in the present or last episode. */
REGLUE_API int reglue_rl_num_steps(reglue_experiment *experiment, uint32_t slot, uint64_t *steps);

/** RL_num_episodes: episodes that ended by themselves since RL_init. */
REGLUE_API int reglue_rl_num_episodes(reglue_experiment *experiment, uint32_t slot,
                                      uint64_t *episodes);

/** RL_success: `*success` is 1 if some step of the present or last episode was a success. */
REGLUE_API int reglue_rl_success(reglue_experiment *experiment, uint32_t slot, int32_t *success);

/** RL_cleanup: env_cleanup, then agent_cleanup. Counts stay; RL_init comes next. */
REGLUE_API int reglue_rl_cleanup(reglue_experiment *experiment);

/** RL_freeze: what follows is judged, until RL_init or RL_adapt_begin. */
REGLUE_API int reglue_rl_freeze(reglue_experiment *experiment);

/** RL_adapt_begin: the agent returns to what it was before adaptation; it adapts in what follows, until
 * RL_freeze. REGLUE_NOT_SUPPORTED if it cannot. No episode may be live: it has ended, or was cut off by
 * the limit of RL_episode. */
REGLUE_API int reglue_rl_adapt_begin(reglue_experiment *experiment);

/** RL_adapt: an adaptation step is over; the agent learns from its episodes, at least one, since
 * RL_adapt_begin or the last RL_adapt. None may be live. */
REGLUE_API int reglue_rl_adapt(reglue_experiment *experiment);

/** RL_standardize_randomness: from the next start on, the random numbers of the n-th start are those of
 * reglue_rng{seed, n, 0}. */
REGLUE_API int reglue_rl_standardize_randomness(reglue_experiment *experiment, uint64_t seed);

/** RL_get_state: a key that names the environment's state. */
REGLUE_API int reglue_rl_get_state(reglue_experiment *experiment, uint32_t slot, const char **key);

/** RL_set_state: the environment continues from there to the bit. The agent's next action and the counts
 * do not change. */
REGLUE_API int reglue_rl_set_state(reglue_experiment *experiment, uint32_t slot, const char *key);

/** RL_get_random_seed: a key that names the state of the environment's random generators. */
REGLUE_API int reglue_rl_get_random_seed(reglue_experiment *experiment, uint32_t slot,
                                         const char **key);

/** RL_set_random_seed: the environment's random numbers continue from there. */
REGLUE_API int reglue_rl_set_random_seed(reglue_experiment *experiment, uint32_t slot,
                                         const char *key);

/** RL_agent_message: the agent's answer; legal at any time. */
REGLUE_API int reglue_rl_agent_message(reglue_experiment *experiment, const char *text,
                                       const char **answer);

/** RL_env_message: the environment's answer; legal at any time. */
REGLUE_API int reglue_rl_env_message(reglue_experiment *experiment, const char *text,
                                     const char **answer);

/** RL_env_start, a half step: env_start alone; no actions. The agent does not notice. */
REGLUE_API int reglue_rl_env_start(reglue_experiment *experiment, const uint32_t *slots,
                                   size_t count, const reglue_rows **rows);

/** RL_env_start of a goal, as reglue_rl_start_goal. */
REGLUE_API int reglue_rl_env_start_goal(reglue_experiment *experiment, const uint32_t *slots,
                                        size_t count, const char *task, uint32_t variant,
                                        const reglue_rows **rows);

/** RL_env_step, a half step: env_step alone, with these actions; no next ones. */
REGLUE_API int reglue_rl_env_step(reglue_experiment *experiment, const uint32_t *slots, size_t count,
                                  const void *const *actions, const reglue_rows **rows);

/** RL_agent_start, a half step: agent_start alone; the actions are what reglue_rl_step plays next. */
REGLUE_API int reglue_rl_agent_start(reglue_experiment *experiment, const uint32_t *slots,
                                     size_t count, const void *const *observations,
                                     const reglue_rows **rows);

/** RL_agent_step, a half step: agent_step alone, likewise. */
REGLUE_API int reglue_rl_agent_step(reglue_experiment *experiment, const uint32_t *slots,
                                    size_t count, const double *rewards,
                                    const void *const *observations, const reglue_rows **rows);

/** RL_agent_end, a half step: agent_end alone, with the last rewards and observations. */
REGLUE_API int reglue_rl_agent_end(reglue_experiment *experiment, const uint32_t *slots, size_t count,
                                   const double *rewards, const void *const *observations,
                                   int32_t truncated);

/** @} */


/** @defgroup random Random numbers that are the same on every platform
 * @{ */

/** The random numbers of one episode: Philox 4x64, numbered. The caller's own, 24 bytes; copying it
 * keeps its state. The same seed, episode and number always give the same word. */
typedef struct reglue_rng {
    uint64_t seed;    /**< such as a start's */
    uint64_t episode;
    uint64_t drawn;   /**< words so far */
} reglue_rng;

/** 64 random bits. */
REGLUE_API uint64_t reglue_rng_word(reglue_rng *rng);

/** A number from `low` to `high`; `high` itself only by rounding. */
REGLUE_API double reglue_rng_uniform(reglue_rng *rng, double low, double high);

/** A uniform integer from 0 to n - 1; n 0 stands for 2^64. */
REGLUE_API uint64_t reglue_rng_below(reglue_rng *rng, uint64_t n);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
