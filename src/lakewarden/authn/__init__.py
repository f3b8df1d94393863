"""Authentication: from the credentials of a request to an `Actor`, or to a refusal."""
