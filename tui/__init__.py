"""The console: dashboard and one-shot commands. Nobody imports it; torch never loads here."""
