"""Sphinx's configuration: the site loads nothing from elsewhere, and its search needs no server."""

from importlib.metadata import version as version_of
from typing import Any

from sphinx.application import Sphinx

project = "lakewarden"
author = "lakewarden contributors"
version = release = version_of("lakewarden")
html_title = f"lakewarden {version}"

extensions = ["myst_parser"]
myst_heading_anchors = 6
smartquotes = False
# A block without a language is a command or its output.
highlight_language = "none"
# Conditions of row filters are shown as SQL, but their `$user` is not SQL.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b3d4d", "color-brand-content": "#0a5c78"},
    "dark_css_variables": {"color-brand-primary": "#8ecbe0", "color-brand-content": "#7cc4dd"},
}


def setup(app: Sphinx) -> None:
    """Called by Sphinx; after the theme, which builds a page's sidebar on the same event."""
    app.connect("html-page-context", _give_captions_a_level, priority=900)


def _give_captions_a_level(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Gives the sidebar's captions a heading level, by which screen readers list them."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )
