"""The literal evaluator with which all others are compared."""
