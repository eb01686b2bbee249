"""Reports, themes and the shells of commands and screens, which features share."""
