"""Taking results elsewhere: runs as flat rows and methods as a table, in the formats of other tools, a file each."""
