"""What the Toepen studies share: training, matches, openings."""
