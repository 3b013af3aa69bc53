import os
import tempfile

from hypothesis import settings

# Whatever a test prepares goes to a folder of its own, not to the user's cache. Commands inherit it.
os.environ["GREDKIT_CACHE"] = tempfile.mkdtemp(prefix="gredkit-tests-")

# A slow machine is no failure.
settings.register_profile("gredkit", deadline=None)
settings.load_profile("gredkit")
