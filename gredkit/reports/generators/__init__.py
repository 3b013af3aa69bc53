"""What a report consists of: one function a file, `(study, folder)`, which writes its files into the folder."""
