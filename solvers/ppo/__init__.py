"""PPO with masked actions: the learner of stable-baselines3's contributions on our environments."""
