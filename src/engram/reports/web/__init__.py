"""One page that people send to each other: runs as a single HTML file that asks nobody for anything."""
