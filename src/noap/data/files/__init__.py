"""Tables in files, as people have them: how they are laid out, which columns count, and where an odd entry stands."""
