"""Language models over sums of segments."""
