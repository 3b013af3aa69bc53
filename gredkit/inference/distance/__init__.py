"""At which distance a trained model hears: influence, mixed second derivatives, and what hiding a hop costs."""
