"""What becomes a realm of Gravitino: its files, databases, policies of Ranger, dbt projects."""
