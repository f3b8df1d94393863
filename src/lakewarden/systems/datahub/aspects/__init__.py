"""The meaning of DataHub's aspects for authorization, as normalised rows."""
