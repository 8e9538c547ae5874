"""Cases drawn at random, each a user's script: recorded, and simulated from what one types first."""
