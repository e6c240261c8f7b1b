"""AlphaZero-like learning on open hands: self-play by tree search, a network with a policy and a value head."""
