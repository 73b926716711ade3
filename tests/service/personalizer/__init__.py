"""Personalizer's interface: over HTTP as it is, and through the clients that Microsoft made for it."""
