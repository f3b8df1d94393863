"""Our own administration, governed as the systems are."""
