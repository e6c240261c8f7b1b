"""Networks that learn from examples: what players do, and what searches find every action to be worth."""
