"""Scores a submission folder against hidden truth."""
