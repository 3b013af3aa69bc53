"""What a report consists of: one function per file, which gets a study and a folder and returns the files it wrote."""
