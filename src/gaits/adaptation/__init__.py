"""A robot that is damaged, and which policy of its archive still walks."""
