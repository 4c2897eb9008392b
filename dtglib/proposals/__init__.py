"""Where trees come from that a model is asked about: projective trees from arc scores."""
