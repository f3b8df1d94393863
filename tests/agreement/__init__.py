"""Everything that answers must answer alike."""
