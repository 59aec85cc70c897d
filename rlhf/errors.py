"""What can go wrong, as one tree.

RlhfError
├── ConfigError       a setting is unknown, of the wrong type or out of range
├── DataError         a record or a JSONL file does not hold what it must
├── CheckpointError   weights or a model's config.json are missing, damaged or of another shape
├── WrapperError      a reward wrapper cannot be loaded, raised, or returned unusable rewards
├── TrainingError     the run itself cannot go on (a number stopped being finite)
└── StoppedError      the run was asked to stop, kept a checkpoint and ended

Every message is one line that names the thing at fault and, where there is one, the mend.
"""


class RlhfError(Exception):
    """Base of every error that this package raises on purpose."""


class ConfigError(RlhfError, ValueError):
    """A setting is unknown, of the wrong type or out of range."""


class DataError(RlhfError, ValueError):
    """A record or a JSONL file does not hold what it must."""


class CheckpointError(RlhfError):
    """Weights or a model's config.json are missing, damaged or of another shape."""


class WrapperError(RlhfError):
    """A reward wrapper cannot be loaded, raised, or returned unusable rewards."""


class TrainingError(RlhfError):
    """A training run cannot go on."""


class StoppedError(RlhfError):
    """A training run was asked to stop, kept a checkpoint and ended."""
