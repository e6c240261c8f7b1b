"""Sizes of the thesis's abstraction rules, a plain judge of what is kept, the order of actions, and bad input."""

import numpy as np
import pyspiel
import pytest

import cardspiel  # noqa: F401
from cardtable import deck
from cardtable.rules import CHANCE, Rules
from solvers.arrays.tree import GameTree
from solvers.lifted import keys_in
from tests.toepen_spiel import names as judge
from toepen_spiel.abstraction import COMMON_MULTIPLE, EXACT, bucket_of, sort_actions
from toepen_spiel.state import BET, CALL, CHECK, FOLD, RANKS

# hand, history: sizes of 3-3-3 with betting under the thesis's isomorphism, without and with the duty to follow suit
SIZES = {
    ("exact", "exact"): (376_958, 195_862),
    ("none", "none"): (4, 4),
    ("exact", "none"): (166, 156),
    ("none", "exact"): (209_829, 116_863),
    ("bucket", "exact"): (333_449, 178_581),
    ("exact", "ante"): (176_448, 94_160),
    ("bucket", "ante"): (155_586, 85_298),
}


def bucketing(base: str, hand: str, history: str) -> pyspiel.Game:
    return pyspiel.load_game(f"python_bucketing(game={base},hand={hand},history={history})")


def size(kept: tuple[str, str], follow_suit: bool) -> int:
    base = f"python_toepen(suits=3,ranks=3,hand_size=3,follow_suit={follow_suit})"
    return GameTree.from_game(
        bucketing(f"python_card_isomorphism(game={base},method=thesis)", *kept)
    ).num_information_sets


@pytest.mark.slow
@pytest.mark.parametrize("follow_suit", [False, True])
@pytest.mark.parametrize("kept", SIZES)
def test_sizes(kept: tuple[str, str], follow_suit: bool) -> None:
    assert size(kept, follow_suit) == SIZES[kept][follow_suit]


@pytest.mark.parametrize("history", ["exact", "ante", "none"])
@pytest.mark.parametrize("hand", ["exact", "bucket", "none"])
@pytest.mark.parametrize("around", ["nothing", "thesis", "orbit"])
def test_the_judge_counts_the_same(around: str, hand: str, history: str) -> None:
    """What is kept by a plain judge on the 2-3-2 game, as sets, against the keys of the compiled transform."""
    suits, ranks = 2, 3
    setting = (suits, ranks, 2, True, True)
    base_name = "python_toepen(suits=2,ranks=3,hand_size=2)"
    sets = set()
    for hands, events, player, options in judge.decisions(*setting):
        played = {event for event in events if not isinstance(event, str)}
        mine, story, count = hands[player] - played, events, len(options)
        if around == "thesis":
            names = judge.thesis_names(hands[player], suits)
            mine, story = judge.rename(mine, names), judge.rename(story, names)
        left = judge.kept(mine, story, hand, history, ranks)
        if around == "orbit":
            fixing = [  # renamings that the player does not notice make options one
                names
                for names in ((0, 1), (1, 0))
                if judge.in_order(judge.rename((mine, story), names)) == judge.in_order((mine, story))
            ]
            count = len({min(judge.in_order(judge.rename(option, names)) for names in fixing) for option in options})
            shown = [part if keep != "bucket" else str(part) for part, keep in zip(left, (hand, history), strict=True)]
            left = judge.orbit(tuple(shown), suits)
        sets.add((player, count, left))
    base = pyspiel.load_game(base_name)
    inner = base_name if around == "nothing" else f"python_card_isomorphism(game={base_name},method={around})"
    game = bucketing(inner, hand, history)
    assert len(keys_in(game, base, GameTree.from_game(base))) == len(sets)


def position(rules: Rules, hands: tuple, events: tuple) -> np.ndarray:
    """A position of the judge as a state of the compiled rules."""
    state, ranks = rules.new_state(), int(rules.root[RANKS])
    while rules.kernel.current_player(state) == CHANCE:
        card = divmod(int(state[deck.NEXT_CARD]), ranks)
        rules.kernel.apply_action(state, 0 if card in hands[0] else 1 if card in hands[1] else 2)
    said = {"check": CHECK, "bet": BET, "call": CALL, "fold": FOLD}
    for event in events:
        action = state[deck.DECK_SIZE] + said[event] if isinstance(event, str) else event[0] * ranks + event[1]
        rules.kernel.apply_action(state, int(action))
    return state


@pytest.mark.parametrize("setting", [(2, 3, 2), (3, 2, 2)])
@pytest.mark.parametrize("around", ["nothing", "thesis", "orbit"])
def test_places_and_stakes(setting: tuple[int, int, int], around: str) -> None:
    """Keys tell apart what the judge's words tell apart, and a position means the same wherever the key is."""
    suits, ranks, hand_size = setting
    base = pyspiel.load_game(f"python_toepen(suits={suits},ranks={ranks},hand_size={hand_size})")
    inner = str(base) if around == "nothing" else f"python_card_isomorphism(game={base},method={around})"
    rules = bucketing(inner, "places", "stakes").rules
    word_of: dict[bytes, tuple] = {}
    meaning_of: dict[bytes, list] = {}
    for hands, events, player, options in judge.decisions(*setting, True, True):
        hand = hands[player] - {event for event in events if not isinstance(event, str)}
        state = rules.new_state()
        state[: base.rules.state_size] = position(base.rules, hands, events)
        key = np.empty(rules.key_words, np.int64)
        rules.kernel.information_key(state, player, key)
        count = rules.kernel.legal_actions(state, np.empty(8, np.int64))  # suits that are alike are one choice
        word = player, count, judge.places(hand, events, player, ranks), judge.stakes(events, player, options)
        assert word_of.setdefault(key.tobytes(), word) == word
        if isinstance(options[0], str):
            continue
        meaning: list[set] = [set() for _ in range(count)]
        for suit, rank in options:
            of_suit = judge.places(frozenset(card for card in hand if card[0] == suit), events, player, ranks)
            higher = sum(card[0] == suit and card[1] > rank for card in hand)
            meaning[rules.origin.label(state, suit * ranks + rank)].add((of_suit, higher))
        assert all(len(one) == 1 for one in meaning)
        assert meaning_of.setdefault(key.tobytes(), meaning) == meaning
    assert len(set(word_of.values())) == len(word_of)


def test_buckets() -> None:
    """10♣ 9♣ 7♦ and J♠ of the full deck: average 29/4, three suits, three above the mean of 6.5; nothing: zeros."""
    state = pyspiel.load_game("python_toepen").new_initial_state().array
    hand = 1 << 7 | 1 << 6 | 1 << (8 + 4) | 1 << (24 + 0)
    assert bucket_of(state, hand) == (29 * COMMON_MULTIPLE // 4, 3, 3)
    assert bucket_of(state, 0) == (0, 0, 0)


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([32, 33], [33, 32]),  # bet before check
        ([34, 35], [34, 35]),  # call before fold
        ([6, 7, 12, 24], [24, 12, 6, 7]),  # 9♣ 10♣ 7♦ J♠: the jack's suit first, then the seven's, then clubs
        ([3, 7, 11, 19], [3, 7, 11, 19]),  # A♣ 10♣ A♦ A♥: equal lowest ranks keep the order of suits
        ([5, 9, 15], [9, 15, 5]),  # 8♣ Q♦ 10♦
    ],
)
def test_order_of_actions(actions: list[int], expected: list[int]) -> None:
    state = pyspiel.load_game("python_toepen").new_initial_state().array
    out = np.array(actions)
    sort_actions(state, EXACT, out, len(out))
    assert out.tolist() == expected


@pytest.mark.parametrize("history", ["exact", "ante", "none", "stakes"])
@pytest.mark.parametrize("hand", ["exact", "bucket", "none", "places"])
def test_tensors_keys_and_strings_tell_the_same_apart(hand: str, history: str) -> None:
    game = bucketing("python_card_isomorphism(game=python_toepen(suits=3,ranks=3,hand_size=2))", hand, history)
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(150):
        state = game.new_initial_state()
        while not state.is_terminal():
            if not state.is_chance_node():
                seen.add((state.information_key(), state.information_state_string(), *state.information_state_tensor()))
            state.apply_action(int(rng.choice(state.legal_actions())))
    keys, strings, tensors = ({row[0] for row in seen}, {row[1] for row in seen}, {row[2:] for row in seen})
    assert len(keys) == len(strings) == len(tensors) == len(seen)


def test_actions_are_positions() -> None:
    game = bucketing("python_toepen()", "bucket", "ante")
    assert game.num_distinct_actions() == 4
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    assert [state.action_to_string(action) for action in state.legal_actions()] == ["bet", "check"]
    state.apply_action(0)
    assert [state.action_to_string(action) for action in state.legal_actions()] == ["call", "fold"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python_bucketing(game=python_toepen(),hand=rank)", "hand is 'rank'; allowed: exact, bucket, none, places"),
        (
            "python_bucketing(game=python_toepen(),history=bets)",
            "history is 'bets'; allowed: exact, ante, none, stakes",
        ),
        ("python_bucketing(game=python_kuhn_collab())", "does not say what can be forgotten"),
        ("python_bucketing(game=python_bucketing(game=python_toepen()))", "does not say what can be forgotten"),
        ("python_bucketing(game=leduc_poker())", "game is 'leduc_poker'; allowed: games and transforms of CardSpiel"),
    ],
)
def test_bad_input(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game(name)
