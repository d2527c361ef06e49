"""Runs a plan through a runner: the scheduler, its events, and the worker's side."""
