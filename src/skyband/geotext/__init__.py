"""The geotext family: top-k over sliding windows of messages, by place and words (the Skype paper)."""
