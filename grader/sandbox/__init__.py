"""Runs a stranger's program: what it may see, what holds it, and the proof that it holds."""
