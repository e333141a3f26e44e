"""The web page: archives as maps; click a cell and watch that policy walk."""
