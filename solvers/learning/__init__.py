"""What learners share: networks, the trainer protocol and saved players."""
