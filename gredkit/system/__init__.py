"""Files, streams and folders of this machine, used with care."""
