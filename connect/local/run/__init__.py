"""One run of this process, from its start to its end: its task, its events for any number of readers, its config; and
`Runs`, the scope that owns all of them."""
