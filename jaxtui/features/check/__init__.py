"""The health check: is every device present, correct and fast?"""
