"""What a report consists of: one function a file that is given a study and a folder, and returns what it wrote."""
