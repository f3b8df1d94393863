"""Sources of DataHub: its files, owners by pattern, dbt projects as its datasets."""
