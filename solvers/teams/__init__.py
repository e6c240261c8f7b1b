"""The machinery of the team solver: public tree, beliefs of a team, and its linear programs."""
