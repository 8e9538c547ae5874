"""Which experts the routers of a mixture choose, whose scores nobody knows on a device that computes nothing."""
