"""What trained models are judged by."""
