"""The games that every shared test runs: each registered game, and variants that reach its special rules."""

import pytest

# Coinche in small: four players with one card each, and two players with two cards each.
COINCHE_M0 = "python_coinche(suits=2,ranks=JA,hand_size=1,min_bid=30,max_bid=30,fall_points=50,capot_value=0)"
COINCHE_D0 = (
    "python_coinche(players=2,suits=2,ranks=JTA,hand_size=2,min_bid=40,max_bid=40,fall_points=70,capot_value=0)"
)

# The smallest Gongzhu with all there is to decide: two tricks with the pig and four hearts.
GONGZHU_SMALL = "python_gongzhu(suits=2,ranks=4)"

# What the quick tests run.
QUICK = (
    "python_toepen(suits=2,ranks=2,hand_size=2)",
    "python_toepen(suits=2,ranks=3,hand_size=2,betting=False)",
    "python_toepen(suits=1,ranks=2,hand_size=1)",
    "python_toepen",
    "python_toepen(suits=4,ranks=8,hand_size=16)",
    "python_kuhn_collab",
    "python_kuhn_collab(fold_topup=False)",
    "python_coinche",
    COINCHE_D0,
    COINCHE_M0.replace("python_coinche(", "python_coinche_match(").replace(")", ",target=80,max_deals=2)"),
    "python_cego",
    "python_gongzhu",
    "python_tied_rewards(game=python_kuhn_collab())",
    "python_card_isomorphism(game=python_toepen(suits=3,ranks=2,hand_size=2,betting=False))",
    "python_bucketing(game=python_card_isomorphism(game=python_toepen()),hand=bucket,history=ante)",
    "python_partner_oracle(game=python_kuhn_collab())",
)
# More of the same, for the long tests.
MORE = (
    "python_toepen(suits=2,ranks=2,hand_size=2,follow_suit=False)",
    "python_toepen(suits=3,ranks=2,hand_size=2,betting=False,follow_suit=False)",
    "python_toepen(suits=3,ranks=3,hand_size=3)",
    "python_toepen(betting=False)",
    COINCHE_M0,
    "python_coinche(pisser=forced,under_partner=no_under,belote=True,reward=classic,trick_reward=0.1,dealer=1)",
    "python_cego(subgame=solo,reward=win)",
    "python_cego(subgame=ultimo)",
    "python_cego(subgame=ultimo,restrict=False,zero_sum=True)",
    "python_cego(subgame=bettel)",
    "python_cego(subgame=piccolo,zero_sum=True)",
    "python_cego(subgame=raeuber)",
    "python_cego(subgame=raeuber,ties=split,zero_sum=True)",
    "python_cego(restrict=False,zero_sum=True)",
    GONGZHU_SMALL,
    "python_gongzhu(suits=4,ranks=5,leader=2)",
    "python_gongzhu(suits=3,ranks=8,leader=3)",
    "python_card_isomorphism(game=python_toepen(),method=thesis)",
    "python_tied_rewards(game=python_partner_oracle(game=python_kuhn_collab(),step=0.3,team=0))",
    "python_card_isomorphism(game=python_toepen())",
    "python_card_isomorphism(game=python_toepen(suits=2,ranks=2,hand_size=2),method=thesis)",
    "python_card_isomorphism(game=python_toepen(suits=3,ranks=4,hand_size=6,follow_suit=False))",
    "python_card_isomorphism(game=python_kuhn_collab())",
    "python_tied_rewards(game=python_card_isomorphism(game=python_kuhn_collab(),method=thesis))",
    "python_bucketing(game=python_toepen(),hand=none)",
    "python_bucketing(game=python_card_isomorphism(game=python_toepen(),method=thesis),history=none)",
    "python_bucketing(game=python_card_isomorphism(game=python_toepen(suits=2,ranks=2,hand_size=2)),history=ante)",
    "python_partner_oracle(game=python_kuhn_collab(),team=1)",
    "python_partner_oracle(game=python_tied_rewards(game=python_kuhn_collab()),accuracy=0.9,step=0.25)",
)
ALL = (*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE))
