"""Learnt bidding: what hands are worth, what calls are worth, how likely calls are, and players that call so."""
