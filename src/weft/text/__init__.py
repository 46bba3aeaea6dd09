"""What people read: text that cannot control a terminal, and tables as HTML."""
