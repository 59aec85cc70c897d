"""Everything that takes time: how it is started, watched, found again and kept. No torch."""
