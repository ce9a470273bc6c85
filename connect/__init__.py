"""Everything that touches a graph, a server or a socket; never how a part becomes an event."""
