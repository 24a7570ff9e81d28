"""What is asked and what was answered: conversation → calls, reply → answer, answers → result. Pure throughout."""
