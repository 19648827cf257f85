"""Sphinx settings: Markdown pages (MyST), the furo theme, every unresolved reference an error, no network."""

from importlib.metadata import version as version_of

project = "Skyband"
version = release = version_of("skyband")
# Sphinx reads this name from the module.
copyright = "the Skyband contributors"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

nitpicky = True
# Types of other libraries: their documentation is elsewhere, and a build must not need the network.
nitpick_ignore_regex = [
    (r"py:.*", r"(numpy|np|pyarrow|pa|pandas|pd|click|collections|datetime|hypothesis|os|pathlib|typing)\..*"),
    # Names for unions of types, which python.md describes, and the rows that an engine is made for.
    (
        r"py:class",
        r"AnyEngine|Checked|Given|Granularity|OnError|Source|WindowLike|skyband\.contract\.engine\.(Subscriptions|Publications)T",
    ),
]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"Skyband {version}"
html_show_sphinx = False
