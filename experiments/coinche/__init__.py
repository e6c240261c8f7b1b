"""What the Coinche studies share."""
