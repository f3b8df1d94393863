"""Sources for a realm of Gravitino: its files, databases, policies of Ranger, dbt projects."""
