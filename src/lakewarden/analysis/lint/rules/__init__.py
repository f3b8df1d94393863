"""The rules of the policy advisor, one module for each topic; `catalogue` finds them."""
