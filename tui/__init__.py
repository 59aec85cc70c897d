"""The console: the dashboard and the one-shot commands. Torch never loads here."""
