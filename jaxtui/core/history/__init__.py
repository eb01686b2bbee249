"""Every measurement of this user: ``store`` keeps, ``recording`` fills it."""
