"""What each command does once its options are parsed; imported when it is run."""
