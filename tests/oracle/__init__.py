"""The literal evaluator that every other one is compared with."""
