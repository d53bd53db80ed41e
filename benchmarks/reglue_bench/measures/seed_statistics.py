"""Several runs of one agent that differ in their training seed alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray, scaled, times, unit_of, within
from reglue_bench.measures.compare import (
    Difference,
    Units,
    over_all_pairs,
    paired,
    same_plan,
)
from reglue_bench.results.result import Result
from reglue_bench.statistics import Inference, Interval, bound_of, of_mean

RESAMPLES = 10_000
BOOTSTRAP_SEED = 0  # of reports: the same runs give the same report
THRESHOLDS = 51
LEAST_SEEDS = 5  # of fewer there is no interval
LEAST_GOALS = 5  # of a task; of fewer, rates of drawn goals are unlike those of others
TINY = 1e-9  # so that a rate of 0.98, however rounded, is not above 0.98


@dataclass(frozen=True, slots=True)
class TrainingSeeds:
    """An agent's success over its training seeds, 0 to 1, or its return, in the task's units."""

    seeds: tuple[int | None, ...]
    rates: FloatArray  # (seeds, tasks): success, or mean returns
    mean: float
    mean_interval95: Interval | None  # None, like the others, if there is too little data
    iqm: float  # interquartile mean of `rates`
    iqm_interval95: Interval | None
    thresholds: FloatArray  # (thresholds,)
    profile: FloatArray  # (thresholds,): share of `rates` above the threshold
    profile_intervals95: tuple[FloatArray, FloatArray] | None  # (thresholds,) each, pointwise

    def times(self, unit: float) -> TrainingSeeds:
        """The statistics of the scores multiplied by `unit`."""
        if unit == 1:
            return self
        mean, iqm = (
            Inference(interval).times(unit).interval95
            for interval in (self.mean_interval95, self.iqm_interval95)
        )
        return replace(
            self,
            rates=times(unit, self.rates),
            mean=within(self.mean * unit),
            mean_interval95=mean,
            iqm=within(self.iqm * unit),
            iqm_interval95=iqm,
        )


def over_training_seeds(
    results: Sequence[Result], *, rng: np.random.Generator, thresholds: FloatArray | None = None
) -> TrainingSeeds:
    """Mean, interquartile mean and performance profile with their intervals.

    Intervals allow for other seeds and other goals (or episodes) of the same tasks. None below five
    seeds, or where nothing varies; of IQM and profile also none if a task has fewer than five
    goals. IQM and profile: Agarwal et al. 2021, sections 4.2 and 4.3, over seeds × tasks.

    Args:
        results: runs of one plan that differ in their training seed.
        rng: draws the bootstrap.
        thresholds: of the profile, ascending; by default 51 from 0 to 1, or of returns from the
            least to the most.

    Raises UsageError for fewer than two runs, runs of different plans, and of returns also where
    an episode was not played to its end and no worst performance is known.
    """
    if len(results) < 2 or not same_plan(results):
        raise UsageError("training seeds are compared over two runs or more of one plan")
    success = list(scores_by_task(results).values())
    if thresholds is None:
        thresholds = thresholds_of([results])
    unit = unit_of(*success)
    low, high = bounds(results[0], success)
    summary = _summary(
        [each / unit for each in success],
        _in_unit(unit, thresholds),
        rng=rng,
        bounds=(low / unit, high / unit),
    )
    seeds = tuple(result.agent.training_seed for result in results)
    return replace(summary.times(unit), seeds=seeds, thresholds=thresholds)


def _summary(
    success: Sequence[FloatArray],
    thresholds: FloatArray,
    *,
    rng: np.random.Generator,
    bounds: Interval,
) -> TrainingSeeds:
    """The statistics of scores by task, (seeds, goals) each, which lie within `bounds`."""
    lowest, highest = bounds
    rates = np.stack([each.mean(axis=1) for each in success], axis=1)
    summary = TrainingSeeds(
        seeds=(),
        rates=rates,
        mean=float(rates.mean()),
        mean_interval95=over_seeds([success], lowest=lowest, highest=highest).interval95,
        iqm=float(iqm(rates[None])[0]),
        iqm_interval95=None,
        thresholds=thresholds,
        profile=profiles(rates[None], thresholds)[0],
        profile_intervals95=None,
    )
    if summary.mean_interval95 is None or min(each.shape[1] for each in success) < LEAST_GOALS:
        return summary
    bootstrap = resampled(success, rng=rng)
    low, high = interval_of(
        lambda rates: iqm(rates)[:, None], success, bootstrap, bounds=(lowest, highest)
    )
    return replace(
        summary,
        iqm_interval95=(float(low[0]), float(high[0])),
        profile_intervals95=interval_of(
            lambda rates: profiles(rates, thresholds), success, bootstrap
        ),
    )


def thresholds_of(agents: Sequence[Sequence[Result]]) -> FloatArray:
    """The thresholds of performance profiles that are shown together, shape (51,)."""
    if all(run.measure.is_rate for of in agents for run in of):
        return np.linspace(0, 1, THRESHOLDS)
    means = np.concatenate([_means(each) for of in agents for each in scores_by_task(of).values()])
    return scaled(lambda each: np.linspace(each.min(), each.max(), THRESHOLDS), means)


def scores_by_task(results: Sequence[Result]) -> dict[str, FloatArray]:
    """Scores by task, (runs, goals), or returns, (runs, episodes); the runs share a plan.

    Raises UsageError if returns cannot be compared.
    """
    return paired([Units(each) for each in results])


def bounds(result: Result, scores: Sequence[FloatArray]) -> Interval:
    """The least and the greatest possible score, as far as they are known."""
    if result.measure.is_rate:
        return 0, 1
    worst = result.parameters.get("worst_performance")
    return bound_of(worst, *(each.ravel() for each in scores)), math.inf


def _in_unit(unit: float, values: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):  # beyond the range is above all that is in this unit
        return values / unit


def _means(scores: FloatArray) -> FloatArray:
    """The mean of each seed, (seeds,), of scores of shape (seeds, goals)."""
    return scaled(lambda each: each.mean(axis=1), scores)


def compare_agents(agent: Sequence[Result], reference: Sequence[Result]) -> Difference:
    """`agent` minus `reference`, in mean success or return, each of several training seeds.

    The seeds of either are its own, the goals the same: what a goal adds to both cancels. The
    probability of improvement is over all pairs of a seed of one and a seed of the other, the
    mean over tasks (Agarwal et al. 2021, section 4.3). No interval below five seeds of either,
    or where nothing varies. Raises UsageError for runs of different plans.
    """
    if not agent or not reference or not same_plan([*agent, *reference]):
        raise UsageError("agents are compared over training seeds on one plan")
    success_of_all = scores_by_task([*agent, *reference])
    lowest, highest = bounds(agent[0], ())
    unit = unit_of(*success_of_all.values())
    together = [each / unit for each in success_of_all.values()]
    split = len(agent)
    success = [each[:split] for each in together], [each[split:] for each in together]
    one, other = (np.stack([each.mean(axis=1) for each in of], axis=1) for of in success)
    fewest = min(len(one), len(other))
    inference = over_seeds(success, lowest=lowest - highest, highest=highest - lowest)
    per_task = zip(success_of_all, one.mean(axis=0) - other.mean(axis=0), strict=True)
    return Difference(
        difference=float(one.mean() - other.mean()),
        difference_per_task={task: float(each) for task, each in per_task},
        same_plan=True,
        interval95=inference.interval95,
        probability_of_improvement=float(
            np.mean([over_all_pairs(*pair) for pair in zip(one.T, other.T, strict=True)])
        ),
        p_value=inference.p_value,
        p_holm=inference.p_value,
        pairs=fewest,
        unlike=fewest if np.sort(one, axis=0).tolist() != np.sort(other, axis=0).tolist() else 0,
    ).times(unit)


def over_seeds(
    agents: Sequence[Sequence[FloatArray]], *, lowest: float, highest: float = 1.0
) -> Inference:
    """Student's, of the mean success of one agent, or the first agent's minus the second's.

    `agents` holds for each agent its tasks' success, shape (seeds, goals). The interval lies
    within `lowest` and `highest`. Fewer than five seeds, or equal scores, give no interval.
    """
    if min(len(success[0]) for success in agents) < LEAST_SEEDS:
        return Inference()
    if (unit := unit_of(*(each for tasks in agents for each in tasks))) != 1:
        of_unit = [[each / unit for each in tasks] for tasks in agents]
        return over_seeds(of_unit, lowest=lowest / unit, highest=highest / unit).times(unit)
    error, degrees = _error_of_mean(agents)
    scale = max(float(np.abs(each).max()) for tasks in agents for each in tasks)
    if error <= TINY * min(1.0, scale):
        return Inference()
    mean = float(np.subtract.reduce([np.mean([t.mean() for t in tasks]) for tasks in agents]))
    inference = of_mean(mean, error=error, degrees=degrees)
    assert inference.interval95 is not None
    low, high = inference.interval95
    return replace(inference, interval95=(max(lowest, low), min(highest, high)))


def _error_of_mean(agents: Sequence[Sequence[FloatArray]]) -> tuple[float, float]:
    """The standard error of what `over_seeds` judges, and its degrees of freedom.

    Seeds and goals are crossed and random, tasks fixed: the variance between seeds' means, plus
    that between goals' means, less the residual's, which is in both (Searle, Casella & McCulloch
    1992, "Variance components", chapter 4). Not less than the seeds' alone. The degrees of
    freedom are Satterthwaite's (1946, Biometrics Bulletin 2:110).
    """
    seeds = [
        np.mean([each.mean(axis=1) for each in success], axis=0).var(ddof=1) / len(success[0])
        for success in agents
    ]
    weight = 1 / len(agents[0]) ** 2  # of a task, in the variance of the mean over tasks
    goals, residuals = [], []
    for of_task in zip(*agents, strict=True):
        n = of_task[0].shape[1]
        if n > 1:  # one goal does not say how goals vary
            means = np.subtract.reduce([each.mean(axis=0) for each in of_task])
            goals.append((weight * means.var(ddof=1) / n, n - 1))
            residuals += [weight * _residual(each) / each.size for each in of_task]
    parts = [(square, len(of[0]) - 1) for square, of in zip(seeds, agents, strict=True)]
    more = sum(square for square, _ in goals) - sum(residuals)
    if more > 0:
        parts += goals
    variance = sum(seeds) + max(0.0, more)
    if variance <= 0:
        return 0.0, 1.0
    return math.sqrt(variance), variance**2 / sum(square**2 / n for square, n in parts)


def _residual(success: FloatArray) -> float:
    """The mean square of what neither seed nor goal explains, of shape (seeds, goals)."""
    seeds, goals = success.shape
    explained = success.mean(axis=1, keepdims=True) + success.mean(axis=0) - success.mean()
    square = float(((success - explained) ** 2).sum())
    return square / float((seeds - 1) * (goals - 1))


def resampled(
    success: Sequence[FloatArray], *, rng: np.random.Generator, resamples: int = RESAMPLES
) -> FloatArray:
    """Rates, shape (resamples, seeds, tasks), from success of shape (seeds, goals) a task.

    Draws seeds with replacement, then goals within each task, the same for all seeds: goals of
    its own for each would hide that a hard goal is hard for all (Owen 2007, "The pigeonhole
    bootstrap", Annals of Applied Statistics 1:386).
    """
    runs = success[0].shape[0]
    seeds = rng.integers(runs, size=(resamples, runs))
    rates = np.empty((resamples, runs, len(success)))
    for task, each in enumerate(success):
        n = each.shape[1]
        alike, goals = np.unique(each, axis=1, return_counts=True)  # goals that went alike
        counts = rng.multinomial(n, goals / n, size=resamples)
        rates[:, :, task] = np.take_along_axis(counts @ alike.T / n, seeds, axis=1)
    return rates


def iqm(rates: FloatArray) -> FloatArray:
    """The mean of the middle half, shape (n,), of rates of shape (n, seeds, tasks)."""
    # As scipy.stats.trim_mean, to the bit; to import that takes most of a second.
    rows = rates.reshape(len(rates), -1)
    cut, count = rows.shape[1] // 4, rows.shape[1]
    ordered = np.partition(rows, (cut, count - cut - 1), axis=1)
    return np.asarray(ordered[:, cut : count - cut].mean(axis=1), np.float64)


def profiles(rates: FloatArray, thresholds: FloatArray) -> FloatArray:
    """The share of rates above each threshold, shape (n, thresholds), of (n, seeds, tasks)."""
    tiny = TINY * min(1.0, float(np.abs(rates).max()))
    return np.stack([(rates > each + tiny).mean(axis=(1, 2)) for each in thresholds], axis=1)


def interval_of(
    statistic: Callable[[FloatArray], FloatArray],
    success: Sequence[FloatArray],
    bootstrap: FloatArray,
    *,
    bounds: tuple[float, float] = (0, 1),
) -> tuple[FloatArray, FloatArray]:
    """Ends of 95 % intervals, shape (k,) each, of a statistic of `resampled` rates.

    `statistic` maps rates of shape (n, seeds, tasks) to (n, k), each within `bounds`. Resamples
    vary too much: they count the residual's variance with the seeds', with the goals' and by
    itself. So their deviations from the estimate are scaled, until their mean has the right
    standard error. The ends are percentiles, expanded so that they allow for few seeds as
    Student's t does (Hesterberg 2015, The American Statistician 69:371).
    """
    # Imported here: SciPy is slow to import, and most commands do not need it.
    from scipy.special import ndtr, stdtrit

    error, degrees = _error_of_mean([success])
    shrink = error / bootstrap.mean(axis=(1, 2)).std()
    estimate = statistic(np.stack([each.mean(axis=1) for each in success], axis=1)[None])[0]
    below = ndtr(stdtrit(degrees, 0.025))
    ends = np.quantile(statistic(bootstrap), [below, 1 - below], axis=0)
    low, high = np.clip(estimate + shrink * (ends - estimate), *bounds)
    return low, high
