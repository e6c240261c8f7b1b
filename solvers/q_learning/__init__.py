"""Double DQN and NFSP on the batch engine."""
