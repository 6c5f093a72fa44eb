"""One of everything that a package can add to Evenhand: a measure, an instrument, a layout, a backend, a mitigation."""
