"""The window family: top-k over sliding windows of points, by distance, weighted sum or cosine (the top-k/w paper)."""
