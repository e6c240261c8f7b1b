"""Deep CFR and Single Deep CFR, batched: see `trainer` for small games, `large` for games that are not enumerated."""
