"""Widgets: data in by one method, intent out by a message. They read no files and sort nothing."""
