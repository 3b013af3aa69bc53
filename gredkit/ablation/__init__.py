"""Run a study: plan its trials, start them, and record them."""
