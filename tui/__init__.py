"""The console: the dashboard and the one-shot commands. Nobody imports it; torch never loads here."""
