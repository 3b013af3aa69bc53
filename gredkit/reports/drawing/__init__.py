"""What several figures share: style, panels, lines and dots."""
