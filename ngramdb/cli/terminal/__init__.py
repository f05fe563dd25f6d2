"""Output for people: tables, progress, numbers, and what the terminal can show."""
