"""The access that users gain and lose between two policy sets, or two points in time."""
