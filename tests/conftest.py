import os
import tempfile

# Whatever a test prepares goes to a folder of its own, not to the user's cache. Commands inherit it.
os.environ["GREDKIT_CACHE"] = tempfile.mkdtemp(prefix="gredkit-tests-")
