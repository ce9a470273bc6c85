"""What tests stand on, by subject; never a test of ours but those of these modules themselves."""
