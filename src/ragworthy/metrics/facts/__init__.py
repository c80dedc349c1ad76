"""What is established about questions, runs and votes; metrics are functions of it."""
