"""The rules of the policy advisor, one module each; `RULE` is what a module is for."""
