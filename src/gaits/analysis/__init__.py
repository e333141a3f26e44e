"""Looking at what was found."""
