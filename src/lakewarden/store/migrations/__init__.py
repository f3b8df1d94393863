"""The steps from schema to schema, each with its way back."""
