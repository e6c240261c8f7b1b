"""Tabular solvers and exact evaluation for OpenSpiel games."""
