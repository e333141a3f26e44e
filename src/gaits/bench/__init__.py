"""Measurements that ship with gaits: `gaits bench`."""
