"""Games made from games; importing this package registers every transform with OpenSpiel."""

import transforms.tied_rewards  # noqa: F401
