"""The study behind `experiments.kuhn_collab`: models, claims, plots and report."""
