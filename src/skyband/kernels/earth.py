"""The Earth in numbers: a sphere, and a flat map of it on which nothing is too far apart."""

import math

EARTH_RADIUS = 6_371_008.8
"""The mean radius of the Earth in metres, that of the sphere on which distances are measured."""
HALF_CIRCUMFERENCE = math.pi * EARTH_RADIUS
"""The largest distance that there is."""

# The map has latitude, and longitude times its cosine, in radians. Longitudes are folded every 45 degrees, like a fan:
# what is far apart may come to lie together, but nothing is drawn apart by more than `STRETCH`, whichever way.
FOLD = math.pi / 8.0
STRETCH = (FOLD / 2.0 + math.sqrt(1.0 + FOLD * FOLD / 4.0)) * (1.0 + 1e-9)
MAP_DIAGONAL = math.pi * STRETCH
"""As a share of this no two places are farther apart on the map than on Earth, as a share of half its circumference."""
MAP_WIDTH = math.sqrt(MAP_DIAGONAL * MAP_DIAGONAL - math.pi * math.pi) * (1.0 + 1e-9)
MAP = (-MAP_WIDTH / 2.0, -math.pi / 2.0, MAP_WIDTH / 2.0, math.pi / 2.0)
"""A box around the map with at least this diagonal: least x and y, greatest x and y."""
