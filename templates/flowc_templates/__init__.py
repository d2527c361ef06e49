"""What `flowc new` copies: each subpackage is a template, and all its files but `__init__.py` are the project's."""
