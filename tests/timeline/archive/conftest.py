"""Tables with numbered instants, and golden tables, as the tests of the timeline have them."""

from tests.timeline.conftest import golden_tables, manifests, newest, oldest

__all__ = ["golden_tables", "manifests", "newest", "oldest"]
