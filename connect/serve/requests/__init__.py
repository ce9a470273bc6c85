"""What a request passes before it is answered: its host, its user, its body."""
