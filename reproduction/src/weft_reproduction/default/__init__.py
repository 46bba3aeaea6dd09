"""The default learner beside its options and its peers."""
