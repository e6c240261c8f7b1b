"""Team solvers against brute force over all joint plans, known values, and each other."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pyspiel
import pytest
import scipy.optimize
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score

import cardspiel  # noqa: F401
from cardtable import deck
from cardtable.compiled import compiled
from cardtable.rules import Rules
from kuhn_collab import rules as kuhn
from kuhn_collab.game import KuhnCollabWording
from solvers import linear_program, team
from solvers.arrays.memory import GameTooLargeError
from solvers.team import TeamGame
from solvers.teams.beliefs import TeamBeliefs, TeamStrategy
from solvers.teams.public_tree import PublicTree

# Value of Collaborative Kuhn Poker to North-South, and the same when teams see their partners' cards.
VALUE = 0.0516054153
NS_SHARES, EW_SHARES, BOTH_SHARE = 0.1477763, -0.1260947, -0.0852166


class ToyGame:
    """Four players of two types each, teams (0, 2) and (1, 3). Player 0 moves, then 1, then 2 if 0 chose 0, else 3.
    Small enough to write down all joint plans: 64 of one team, 256 of the other."""

    teams = ((0, 2), (1, 3))

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.deals = [deal for deal in itertools.product((0, 1), repeat=4) if rng.random() < 0.8]
        weights = rng.integers(1, 5, len(self.deals)).tolist()
        self.probability = [Fraction(weight, sum(weights)) for weight in weights]
        self.ends = list(itertools.product((0, 1), repeat=3))
        self.payoff = rng.integers(-6, 7, (len(self.deals), len(self.ends)))  # to players 0 and 2 together

    def efg(self) -> str:
        """The game in Gambit's format. Player 0 gets 1 more than her partner, and so on: only sums matter."""
        lines = ['EFG 2 R "toy" { "P0" "P1" "P2" "P3" } ""']
        chances = " ".join(f'"d{i}" {p}' for i, p in enumerate(self.probability))
        lines.append(f'c "" 1 "" {{ {chances} }} 0')
        outcome = 0
        for number, deal in enumerate(self.deals):
            lines.append(f'p "" 1 {1 + deal[0]} "" {{ "0" "1" }} 0')
            for a in (0, 1):
                lines.append(f'p "" 2 {1 + 2 * deal[1] + a} "" {{ "0" "1" }} 0')
                for b in (0, 1):
                    last = 3 if a else 2
                    lines.append(f'p "" {last + 1} {1 + 2 * deal[last] + b} "" {{ "0" "1" }} 0')
                    for c in (0, 1):
                        value = int(self.payoff[number, self.ends.index((a, b, c))])
                        outcome += 1
                        returns = f"{value + 1}, {-value - 2}, -1, 2"
                        lines.append(f't "" {outcome} "" {{ {returns} }}')
        return "\n".join(lines)

    def matrix(self) -> np.ndarray:
        """Payoff of every joint plan of (0, 2) against every joint plan of (1, 3)."""

        def plans(infosets: int) -> list[tuple[int, ...]]:
            return list(itertools.product((0, 1), repeat=infosets))

        rows = list(itertools.product(plans(2), plans(4)))
        columns = list(itertools.product(plans(4), plans(4)))
        result = np.zeros((len(rows), len(columns)))
        for r, (plan_0, plan_2) in enumerate(rows):
            for c, (plan_1, plan_3) in enumerate(columns):
                for deal, probability, payoff in zip(self.deals, self.probability, self.payoff, strict=True):
                    a = plan_0[deal[0]]
                    b = plan_1[2 * deal[1] + a]
                    e = plan_3[2 * deal[3] + b] if a else plan_2[2 * deal[2] + b]
                    result[r, c] += float(probability) * payoff[4 * a + 2 * b + e]
        return result


def matrix_game_value(matrix: np.ndarray) -> float:
    rows, columns = matrix.shape
    solution = scipy.optimize.linprog(
        np.append(np.zeros(rows), -1.0),
        A_ub=np.hstack([-matrix.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=[[1.0] * rows + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
    )
    return float(-solution.fun)


@pytest.mark.parametrize("seed", range(6))
def test_toy_games_against_brute_force(seed: int) -> None:
    toy = ToyGame(seed)
    matrix = toy.matrix()
    game = TeamGame(pyspiel.load_efg_game(toy.efg()), toy.teams)
    uniform = openspiel_policy.UniformRandomPolicy(game.tree.game)
    assert team.team_best_response(game, uniform, 0).value == pytest.approx(matrix.mean(axis=1).max())
    assert team.team_best_response(game, uniform, 1).value == pytest.approx((-matrix).mean(axis=0).max())
    result = team.team_exploitability(game, uniform)
    assert result.values == pytest.approx((matrix.mean(), -matrix.mean()))
    for everywhere in (False, True):
        equilibrium = team.solve(game, everywhere=everywhere)
        assert equilibrium.upper - equilibrium.lower < 1e-9
        assert equilibrium.value == pytest.approx(matrix_game_value(matrix), abs=1e-8)
    optimal = team.team_exploitability(game, *equilibrium.strategies)
    assert optimal.exploitability == pytest.approx(0.0, abs=1e-8)
    assert optimal.guarantees == pytest.approx((equilibrium.value, -equilibrium.value), abs=1e-8)
    # No strategy of independent members guarantees more than the correlated value.
    assert result.guarantees[0] <= equilibrium.value + 1e-9


def test_team_best_response_in_three_player_kuhn_poker_against_brute_force() -> None:
    """All 6,561 reduced plans of player 0; for each, player 1's best answer card by card."""
    game = pyspiel.load_game("kuhn_poker(players=3)")
    rng = np.random.default_rng(5)
    third = openspiel_policy.TabularPolicy(game)
    for row, legal in zip(third.action_probability_array, third.legal_actions_mask, strict=True):
        row[:] = rng.dirichlet(np.ones(2)) * legal
    plans = list(itertools.product((0, 1), repeat=4))  # an action for each of the four histories a player meets
    histories: dict[int, list[str]] = {0: [], 1: []}
    gain = np.zeros((2,) * 8 + (4, 4)).reshape(16, 16, 4, 4)  # plan 0, plan 1, card 0, card 1

    def walk(state: pyspiel.State, weight: float, chosen: dict[int, dict[str, int]]) -> None:
        if state.is_terminal():
            rows = [consistent(0, chosen[0]), consistent(1, chosen[1])]
            cards = state.full_history()[0].action, state.full_history()[1].action
            gain[np.ix_(*rows, [cards[0]], [cards[1]])] += weight * (state.returns()[0] + state.returns()[1])
        elif state.is_chance_node():
            for outcome, probability in state.chance_outcomes():
                walk(state.child(outcome), weight * probability, chosen)
        elif state.current_player() == 2:
            for action, probability in third.action_probabilities(state).items():
                walk(state.child(action), weight * probability, chosen)
        else:
            who = state.current_player()
            public = state.information_state_string()[1:]
            if public not in histories[who]:
                histories[who].append(public)
            for action in state.legal_actions():
                walk(state.child(action), weight, {**chosen, who: {**chosen[who], public: action}})

    def consistent(who: int, chosen: dict[str, int]) -> list[int]:
        wanted = {histories[who].index(public): action for public, action in chosen.items()}
        return [i for i, plan in enumerate(plans) if all(plan[at] == action for at, action in wanted.items())]

    walk(game.new_initial_state(), 1.0, {0: {}, 1: {}})
    assert [len(histories[who]) for who in (0, 1)] == [4, 4]
    best = -np.inf
    for joint in itertools.product(range(16), repeat=4):  # a plan for each card of player 0
        against = np.sum([gain[joint[card], :, card, :] for card in range(4)], axis=0)  # plan 1, card 1
        best = max(best, against.max(axis=0).sum())
    response = team.team_best_response(game, third, 0, teams=((0, 1), (2,)))
    assert response.value == pytest.approx(best, abs=1e-12)


def test_a_team_of_one_is_a_player() -> None:
    equilibrium = team.solve(pyspiel.load_game("kuhn_poker"), teams=((0,), (1,)))
    assert equilibrium.value == pytest.approx(-1 / 18, abs=1e-9)
    assert equilibrium.upper - equilibrium.lower < 1e-9


class PlanPolicy(openspiel_policy.Policy):
    """A pure plan of one team by information-state string; everybody else plays uniformly."""

    def __init__(self, game: TeamGame, plan: TeamStrategy) -> None:
        super().__init__(game.tree.game, list(range(game.tree.num_players)))
        told = plan.told()
        self.actions = {
            example.state.information_state_string(): told[example.node, example.type]
            for example in game.tree.examples
            if (example.node, example.type) in told
        }

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        legal = state.legal_actions()
        told = self.actions.get(state.information_state_string())
        return dict.fromkeys(legal, 1 / len(legal)) if told is None else {told: 1.0}


def test_four_player_kuhn_poker_as_two_teams() -> None:
    """OpenSpiel's game, its lottery over plans played through OpenSpiel."""
    spiel_game = pyspiel.load_game("kuhn_poker(players=4)")
    game = TeamGame(spiel_game, ((0, 2), (1, 3)))
    equilibrium = team.solve(game)
    assert equilibrium.upper - equilibrium.lower < 1e-9
    assert equilibrium.value == pytest.approx(-0.0245654163, abs=1e-9)
    assert team.solve(game, everywhere=True).value == pytest.approx(equilibrium.value, abs=1e-9)
    lottery = equilibrium.strategies[0].plans()
    assert sum(probability for probability, _ in lottery) == pytest.approx(1.0, abs=1e-9)
    mixture = sum(probability * plan.realization() for probability, plan in lottery)
    assert mixture == pytest.approx(equilibrium.strategies[0].realization(), abs=1e-9)
    uniform = openspiel_policy.UniformRandomPolicy(spiel_game)
    played = sum(
        probability
        * expected_game_score.policy_value(spiel_game.new_initial_state(), [PlanPolicy(game, plan)] * 4)[[0, 2]].sum()
        for probability, plan in lottery
    )
    assert played == pytest.approx(
        game.value(equilibrium.strategies[0].realization(), game.realization(1, uniform)), abs=1e-9
    )
    assert played >= equilibrium.lower


@pytest.mark.slow
def test_collaborative_kuhn_poker() -> None:
    game = TeamGame(pyspiel.load_game("python_kuhn_collab"))
    equilibrium = team.solve(game)
    assert equilibrium.upper - equilibrium.lower < 1e-9
    assert equilibrium.value == pytest.approx(VALUE, abs=1e-9)
    assert EW_SHARES < equilibrium.value < NS_SHARES
    # The certificate, from the strategies alone: realizations, and the other team's exact best response to each.
    certificate = team.team_exploitability(game, *equilibrium.strategies)
    assert certificate.guarantees[0] == pytest.approx(VALUE, abs=1e-9)
    assert -certificate.guarantees[1] == pytest.approx(VALUE, abs=1e-9)


def test_the_value_does_not_depend_on_who_pays_after_a_fold() -> None:
    """`fold_topup` only moves chips between partners, so the teams play the same game."""
    first, second = (TeamGame(pyspiel.load_game(f"python_kuhn_collab(fold_topup={flag})")) for flag in (True, False))
    assert second.payoff == pytest.approx(first.payoff)


@compiled
def _mover(state):
    player = kuhn.current_player(state)
    return player % 2 if player >= 0 else player


@compiled
def _team_returns(state, out):
    seats = np.empty(4)
    kuhn.returns(state, seats)
    out[0] = seats[0] + seats[2]
    out[1] = seats[1] + seats[3]


@compiled
def _team_key(state, player, out):
    """Both cards of the team, and what kuhn_collab's own key says about the public actions."""
    kuhn.information_key(state, player, out)
    out[1] = state[deck.DEALT + player] << 8 | state[deck.DEALT + player + 2]


@pytest.mark.slow
def test_both_teams_share_their_cards() -> None:
    """A team that shares its cards is one player: the sequence-form LP of that two-player game gives the same value."""
    equilibrium = team.solve(pyspiel.load_game("python_partner_oracle(game=python_kuhn_collab())"))
    assert equilibrium.upper - equilibrium.lower < 1e-9
    assert equilibrium.value == pytest.approx(BOTH_SHARE, abs=1e-7)
    base = pyspiel.load_game("python_kuhn_collab")
    merged = dataclasses.replace(
        base.rules,
        kernel=base.rules.kernel._replace(current_player=_mover, returns=_team_returns, information_key=_team_key),
        num_players=2,
        key_words=2,
        min_utility=-6.0,
        max_utility=6.0,
        teams=(),
    )
    two_players = MergedGame(merged)
    assert linear_program.solve(two_players).value == pytest.approx(equilibrium.value, abs=1e-8)


class MergedGame(pyspiel.Game):
    """Just enough of a pyspiel game for solvers that drive the rules."""

    def __init__(self, rules: Rules) -> None:
        kind = pyspiel.load_game("kuhn_poker").get_type()
        info = pyspiel.GameInfo(
            num_distinct_actions=rules.num_distinct_actions,
            max_chance_outcomes=rules.max_chance_outcomes,
            num_players=2,
            min_utility=-6.0,
            max_utility=6.0,
            utility_sum=0.0,
            max_game_length=rules.max_game_length,
        )
        super().__init__(kind, info, {})
        self.rules = rules
        self.wording = KuhnCollabWording()


@pytest.mark.slow
@pytest.mark.parametrize(("sharing", "value"), [(0, NS_SHARES), (1, EW_SHARES)])
def test_one_team_shares_its_cards(sharing: int, value: float) -> None:
    game = pyspiel.load_game(f"python_partner_oracle(game=python_kuhn_collab(),team={sharing})")
    equilibrium = team.solve(game, tolerance=1e-8, everywhere=True)
    assert equilibrium.upper - equilibrium.lower <= 1e-8
    assert equilibrium.value == pytest.approx(value, abs=1e-7)


def test_progress_is_reported_and_bounds_never_widen() -> None:
    seen: list[team.Progress] = []
    equilibrium = team.solve(pyspiel.load_game("kuhn_poker"), teams=((0,), (1,)), report=seen.append)
    assert [entry.iteration for entry in seen] == list(range(equilibrium.iterations + 1))
    assert all(a.lower <= b.lower and a.upper >= b.upper for a, b in itertools.pairwise(seen))
    cut_short = team.solve(pyspiel.load_game("kuhn_poker"), teams=((0,), (1,)), max_iterations=1)
    assert cut_short.lower <= -1 / 18 <= cut_short.upper


@pytest.mark.parametrize(
    ("name", "teams", "message"),
    [
        ("kuhn_poker(players=4)", None, "declares no teams"),
        ("kuhn_poker(players=3)", ((0, 2), (1, 3)), "each of the players 0 to 2"),
        ("kuhn_poker(players=4)", ((0, 1, 2, 3),), "allowed: two teams"),
        ("kuhn_poker(players=4)", ((0, 1), (1, 3)), "sits exactly once"),
        ("kuhn_poker(players=4)", ((0, 1, 2, 3), ()), "allowed: two teams"),
        ("python_toepen", None, "declares no teams"),
    ],
)
def test_bad_teams(name: str, teams: tuple | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TeamGame(pyspiel.load_game(name), teams)


def test_games_that_are_not_zero_sum_are_refused() -> None:
    text = ToyGame(0).efg().replace("-1, 2 }", "-1, 3 }")
    with pytest.raises(ValueError, match="do not sum to zero"):
        TeamGame(pyspiel.load_efg_game(text), ((0, 2), (1, 3)))


def test_games_whose_beliefs_do_not_fit_are_refused() -> None:
    tree = PublicTree.from_game(pyspiel.load_game("kuhn_poker(players=4)"))
    with pytest.raises(GameTooLargeError, match=r"belief DAG of players \(0, 2\) .* with 10 types in one component"):
        TeamBeliefs(tree, (0, 2), max_memory_bytes=100_000)


def test_bad_arguments() -> None:
    game = TeamGame(pyspiel.load_game("kuhn_poker"), ((0,), (1,)))
    uniform = openspiel_policy.UniformRandomPolicy(game.tree.game)
    with pytest.raises(ValueError, match="team is 2; allowed: 0, 1"):
        team.team_best_response(game, uniform, 2)
    with pytest.raises(ValueError, match="but the TeamGame has teams"):
        team.solve(game, teams=((1,), (0,)))
    response = team.team_best_response(game, uniform, 0)
    with pytest.raises(ValueError, match=r"one of players \(0,\), not of \(1,\)"):
        team.team_exploitability(game, uniform, response.strategy)
