"""What the tests of docs/cookbook.md make of the page: a package, and its snippets as functions of one state."""
