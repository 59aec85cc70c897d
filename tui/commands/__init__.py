"""The one-shot commands, one file a group; each callback parses, calls and prints."""
