"""The marks that tell things apart without colour."""

NOT_FINITE = "✗"  # a number that was NaN or infinite

STATE_MARKS = {
    "queued": "◌",
    "starting": "○",
    "running": "▶",
    "stalled": "‖",
    "finished": "✓",
    "failed": "✗",
    "stopped": "■",
    "lost": "!",
    "unknown": "?",
}

VERDICT_MARKS = {"ship": "●", "hold": "○"}
