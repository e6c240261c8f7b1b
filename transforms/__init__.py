"""Games made from games; importing this package registers every transform with OpenSpiel."""

import transforms.card_isomorphism
import transforms.partner_oracle
import transforms.tied_rewards  # noqa: F401
