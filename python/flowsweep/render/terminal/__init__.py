"""What the commands print of captures and rows on a terminal."""
