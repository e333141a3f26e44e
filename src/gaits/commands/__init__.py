"""The commands of the command line, by what people do: train, compare, look at what was found. ``cli.py`` runs them."""
