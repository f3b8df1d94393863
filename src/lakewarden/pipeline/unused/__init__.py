"""What is granted and not used: access logs against an index, and a proposal of less."""
