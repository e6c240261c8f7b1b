"""Games made from games; importing this package registers every transform with OpenSpiel."""

from transforms import bucketing, card_isomorphism, partner_oracle, tied_rewards

__all__ = ["TRANSFORMS"]

TRANSFORMS = (bucketing.NAME, card_isomorphism.NAME, partner_oracle.NAME, tied_rewards.NAME)
