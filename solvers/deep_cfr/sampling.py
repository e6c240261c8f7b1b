"""Which of the traverser's actions a traversal tries, and what the tried ones stand for.

External sampling (Lanctot et al. 2009; Deep CFR's traversal) tries all of them. To try at most k:

*Corrected.* Draw k actions from q(a) = epsilon / n + (1 - epsilon) strategy(a), merge repeated draws, and weight what
comes back: with n_a draws of action a, u(a) the value found below it, f(a) = n_a / (k q(a)), and m the mean of u over
the k draws,

    v(a) = m + f(a) (u(a) - m) k / (k - 1)  (m if not drawn),
    v = sum of strategy(a) v(a),     regret(a) = v(a) - v, for all a.

This is the mean over the draws of b + (1 if this draw is a) (u(a) - b) / q(a), where the baseline b is the mean of the
*other* draws and so does not depend on this one: E[v(a)] = u(a), and v and the regrets are unbiased too. With k = 1
there is no other draw and b is 0: v(a) = f(a) u(a). What lies below a drawn action is visited once, with its weight
multiplied by f(a), whose mean is one. A node with at most k actions tries them all, each with factor one.

*Rollouts.* Follow one path. Where the traverser decides on it, try every action, and follow one of them, drawn from q,
further on the path; the others are played to the end once, with the traverser's own strategy. So every action has a
value of its own without a weight, and v and the regrets are unbiased:

    v = sum of strategy(a) u(a),     regret(a) = u(a) - v, for all a.

This costs a game for each action of each decision, and has none of the noise that weights make where there are many
actions. (It is the idea of probing: Gibson et al. 2012.)

*Algorithm 3* of the Coinche paper, as it is written: draw k actions from the strategy itself, use the values as they
are,

    v = sum over drawn a of strategy(a) u(a),     regret(a) = u(a) - v for drawn a, and 0 for the others.

It is biased: E[v] = sum of strategy(a) (1 - (1 - strategy(a))^k) u(a), and an action of probability zero is never tried
again. It is here to reproduce the paper, under the name `algorithm3_biased`.

What a row weighs in the loss of a network. Counterfactual weights are the product of the factors f(a), or 1 / q(a)
along a path of rollouts, of the traverser's decisions above. They grow with the number of own actions above: in
Coinche, rows after 43 calls and seven cards weigh a million times as much as the first call, which then is never
trained. So the weight is divided by the number of actions of each own decision above. These are the same for all visits
of an information state (perfect recall), so that this changes its unit and nothing else, and all decisions of a game
weigh about the same. Algorithm 3 has no weights, and stays as it is written.
"""

from __future__ import annotations

from cardtable.compiled import compiled
from cardtable.randomness import below, sample_index, uniform

TRAVERSALS = ("external", "corrected", "algorithm3_biased", "rollouts")
EXTERNAL, CORRECTED, ALGORITHM_3, ROLLOUTS = range(4)


def traversal_number(name: str) -> int:
    if name not in TRAVERSALS:
        raise ValueError(f"traversal is {name!r}; allowed: {', '.join(TRAVERSALS)}")
    return TRAVERSALS.index(name)


@compiled
def regret_matching(strategy, count):
    """Turns the first `count` advantages into a strategy, in place: in proportion to the positive ones.

    Where none is positive the highest is played, as Brown et al. (2019) found better than playing uniformly: a network
    that is a little too low must not make its player bid at random. All that tie for the highest are played alike, so
    that play is uniform at the start, when networks answer zero.
    """
    total = 0.0
    highest = strategy[0]
    for action in range(count):
        highest = max(highest, strategy[action])
        total += max(strategy[action], 0.0)
    if total > 0.0:
        for action in range(count):
            strategy[action] = max(strategy[action], 0.0) / total
        return
    ties = 0
    for action in range(count):
        if strategy[action] == highest:
            ties += 1
    for action in range(count):
        strategy[action] = 1.0 / ties if strategy[action] == highest else 0.0


@compiled
def choose_tries(traversal, tries, epsilon, strategy, count, generator, factor):
    """Fills `factor[a]`: 0 if action a is not tried, else what the value found below it is multiplied by."""
    if traversal in (EXTERNAL, ROLLOUTS) or (traversal == CORRECTED and count <= tries):
        for action in range(count):
            factor[action] = 1.0
        return
    for action in range(count):
        factor[action] = 0.0
    for _ in range(tries):
        if traversal == CORRECTED and uniform(generator) < epsilon:
            factor[below(generator, count)] += 1.0
        else:
            factor[sample_index(generator, strategy, count)] += 1.0
    for action in range(count):
        if factor[action] > 0.0:
            if traversal == CORRECTED:
                factor[action] /= tries * (epsilon / count + (1.0 - epsilon) * strategy[action])
            else:
                factor[action] = 1.0


@compiled
def tries_several(traversal, weight):
    """Whether the traverser tries actions here, or draws one as the others do: on a rollout, which weighs nothing."""
    return traversal != ROLLOUTS or weight > 0.0


@compiled
def share_weight(traversal, epsilon, strategy, factor, count, generator, share):
    """Fills `share[a]`: what the weight of rows below action a is multiplied by."""
    for action in range(count):
        share[action] = factor[action] if traversal == ALGORITHM_3 else factor[action] / count
    if traversal == ROLLOUTS:
        if uniform(generator) < epsilon:
            followed = below(generator, count)
        else:
            followed = sample_index(generator, strategy, count)
        share[:count] = 0.0
        share[followed] = 1.0 / (count * (epsilon / count + (1.0 - epsilon) * strategy[followed]))


@compiled
def estimate(traversal, tries, epsilon, strategy, values, factor, count, regrets):
    """From the values of the tried actions: the value of the node, returned, and the regrets of all actions.

    `values` of actions that were not tried are not read.
    """
    mean = 0.0
    stretch = 1.0
    if traversal == CORRECTED and 1 < tries < count:
        for action in range(count):
            if factor[action] > 0.0:
                mean += factor[action] * (epsilon / count + (1.0 - epsilon) * strategy[action]) * values[action]
        stretch = tries / (tries - 1.0)
    value = 0.0
    for action in range(count):
        regrets[action] = mean
        if factor[action] > 0.0:
            regrets[action] += stretch * factor[action] * (values[action] - mean)
        value += strategy[action] * regrets[action]
    for action in range(count):
        if factor[action] == 0.0 and traversal == ALGORITHM_3:
            regrets[action] = 0.0
        else:
            regrets[action] -= value
    return value
