"""Meta-World's two evaluations as benchmark programs. They print the mean success rate.

    reglue glue --listen 127.0.0.1:4096 --experiment-token SECRET …  # an agent and MT10 join it
    REGLUE_ADDRESS=127.0.0.1:4096 REGLUE_TOKEN=SECRET \\
        python -m reglue.examples.metaworld_evaluation multi-task 1

Source: Meta-World's documentation, "Evaluation".
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from reglue.errors import ReglueError
from reglue.experiments.experiment import Experiment
from reglue.experiments.routines import Routines


def multi_task_eval(rl: Routines, *, num_evaluation_episodes: int = 50) -> float:
    """One episode for each of a task's first goals, by a frozen agent."""
    successes, tasks = 0, rl.tasks
    rl.freeze()
    for goal in range(num_evaluation_episodes):
        for task in tasks:
            rl.episode(task=task, variant=goal)
            successes += rl.success()
    return successes / (num_evaluation_episodes * len(tasks))


def metalearning_eval(
    rl: Routines,
    *,
    num_evals: int = 40,
    adaptation_steps: int = 1,
    adaptation_episodes: int = 10,
    evaluation_episodes: int = 3,
) -> float:
    """Adaptation to each of a task's first goals, then episodes that are judged."""
    successes = 0
    for _ in range(num_evals):
        rl.iterate_goal()
        rl.adapt_begin()
        for _ in range(adaptation_steps):
            for _ in range(adaptation_episodes):
                rl.episode()
            rl.adapt()
        rl.freeze()
        for _ in range(evaluation_episodes):
            rl.episode()
            successes += rl.success()
    return successes / (num_evals * evaluation_episodes)


def main(arguments: Sequence[str]) -> int:
    """The program: `multi-task|meta-learning [GOALS [ADAPTATION_EPISODES]]`."""
    match [*arguments]:
        case ["multi-task" | "meta-learning" as procedure, *numbers] if len(numbers) <= 2 and all(
            each.isdecimal() and int(each) > 0 for each in numbers
        ):
            goals, episodes, *_ = (*map(int, numbers), *(40, 10)[len(numbers) :])
        case _:
            usage = "multi-task|meta-learning [GOALS [ADAPTATION_EPISODES]]"
            sys.stderr.write(f"usage: metaworld_evaluation {usage}\n")
            return 2
    try:
        with Experiment(name="metaworld_evaluation") as rl:
            rl.init()
            if procedure == "multi-task":
                rate = multi_task_eval(rl, num_evaluation_episodes=goals)
            else:
                rate = metalearning_eval(rl, num_evals=goals, adaptation_episodes=episodes)
            rl.cleanup()
    except ReglueError as error:
        sys.stderr.write(f"metaworld_evaluation: {error}\n")
        return 1
    sys.stdout.write(f"{rate:g}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
