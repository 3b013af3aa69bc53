"""Store trained models, load them, and use them on new graphs."""
