"""What the aspects of DataHub entities mean for authorization, as normalised rows."""
