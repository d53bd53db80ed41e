# Wrong uses of a benchmark program's routines, a row each: the use, its call, the error that it must throw, and what the
# message says. A wrong use changes nothing: rows with FINE are carried out between them. Run it with a glue whose agent
# and environment leave with the first session. Exit code 0 if all rows are right.
using Reglue

rl = Experiment()

const FINE = :fine

const ROWS = [
    ("start before init", () -> rl_start!(rl), :OUT_OF_ORDER, "RL_init"),
    ("init of no slots", () -> rl_init!(rl; slots = 0), :OUT_OF_DOMAIN, "got slots 0, wanted an integer from 1 to 4294967295"),
    ("a seed out of range", () -> rl_init!(rl; seed = -1), :OUT_OF_DOMAIN, "got seed -1, wanted an integer from 0 to"),
    ("init", () -> rl_init!(rl; slots = 2, seed = typemax(Int64)), FINE, ""),
    ("step before start", () -> rl_step!(rl, [2]), :OUT_OF_ORDER, r"^got RL_step in slot 2, "),
    ("start", () -> rl_start!(rl), FINE, ""),
    ("actions of a wrong size", () -> rl_env_step!(rl, [1, 2, 3]), :WRONG_SIZE, "size (3,) for \"action\", wanted an array of size (1, 1)"),
    ("actions of a wrong name", () -> rl_env_step!(rl, Dict("nothing" => [1])), :WRONG_SIZE, "\"nothing\", wanted one for each of \"action\""),
    ("a fractional slot", () -> rl_start!(rl, [0.5]), :OUT_OF_DOMAIN, "got slot 0.5, wanted an integer"),
    ("an unknown slot", () -> rl_start!(rl, [3]), :OUT_OF_DOMAIN, r"^got slot 3, wanted 1 to 2$"),
    ("a slot twice", () -> rl_start!(rl, [2, 2]), :OUT_OF_DOMAIN, r"^got slots \[2, 2\], wanted each at most once$"),
    ("an unsupported routine", () -> rl_set_state!(rl, "no key of a state"), :NOT_SUPPORTED, "an environment that keeps its states"),
    ("a key that is no text", () -> rl_set_state!(rl, nothing), :OUT_OF_DOMAIN, "got nothing, wanted a string"),
    ("a message that is no text", () -> rl_agent_message(rl, 7), :OUT_OF_DOMAIN, "got 7, wanted a string"),
    ("an unknown task", () -> rl_init!(rl; task = "none"), :OUT_OF_DOMAIN, "none"),
    ("a task that is no text", () -> rl_start!(rl; task = 7), :OUT_OF_DOMAIN, "got task 7, wanted a string"),
    ("a negative variant", () -> rl_start!(rl; variant = -1), :OUT_OF_DOMAIN, "got variant -1, wanted an integer from 0 to 4294967295"),

    ("step", () -> rl_step!(rl), FINE, ""),
    ("close", () -> close(rl), FINE, ""),
    ("a routine after close", () -> rl_num_steps(rl), :SessionLost, "the program has left"),
    ("a timeout of 0", () -> Experiment(; timeout_s = 0), :UsageError, "got timeout_s 0, wanted 0.001 to 1e9"),
    ("join", () -> (global rl = Experiment(; timeout_s = 0.1)), FINE, ""),
    ("a routine that takes too long", () -> rl_init!(rl), :SessionLost, "longer than its 100 ms"),
    ("a routine after that", () -> rl_freeze!(rl), :SessionLost, "longer than its 100 ms"),
    ("close", () -> close(rl), FINE, ""),
]

"The code or class of what the call throws, and its message."
function outcome(call)
    try
        call()
        return FINE, ""
    catch error
        return error isa RoutineRefused ? error.code : nameof(typeof(error)), hasproperty(error, :message) ? error.message : sprint(showerror, error)
    end
end

wrong = filter(ROWS) do (use, call, wanted, words)
    error, message = outcome(call)
    is_right = error == wanted && occursin(words, message)
    is_right || println(stderr, "$use: got $error, wanted $wanted and '$words': $message")
    return !is_right
end
exit(isempty(wrong) ? 0 : 1)
