"""Analysis that an exported task folder must not contain. Imports rlhf, numpy and torch."""
