"""The peers, a module for each system; each module lists its peers under the name PEERS."""
