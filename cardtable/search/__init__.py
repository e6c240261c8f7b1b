"""Players that look ahead: they know the rules and nothing of the game's fine points."""
